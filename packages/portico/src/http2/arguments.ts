/** Checks of arguments, with Node's errors. */

import * as errors from './errors';

/** An object, not null. @throws `ERR_INVALID_ARG_TYPE` */
export function checkObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw errors.invalidType(name, 'of type object', value);
}

/** A code of an error: 32 bits. @throws `ERR_INVALID_ARG_TYPE` */
export function checkCode(code: unknown): void {
  if (typeof code !== 'number') throw errors.invalidType('code', 'of type number', code);
  if (!Number.isInteger(code)) throw errors.outOfRange('code', 'an integer', code);
  if (code < 0 || code > MAX_CODE) throw errors.outOfRange('code', `>= 0 && <= ${MAX_CODE}`, code);
}

const MAX_CODE = 0xffffffff;

/** Bytes. @throws `ERR_INVALID_ARG_TYPE` */
export function checkBuffer(name: string, value: unknown): asserts value is NodeJS.ArrayBufferView {
  if (!ArrayBuffer.isView(value)) throw errors.invalidType(name, 'an instance of Buffer, TypedArray, or DataView', value);
}

/** A function. @throws `ERR_INVALID_ARG_TYPE` */
export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw errors.invalidType(name, 'of type function', value);
}

/** A number. @throws `ERR_INVALID_ARG_TYPE` */
export function checkNumber(name: string, value: unknown): asserts value is number {
  if (typeof value !== 'number') throw errors.invalidType(name, 'of type number', value);
}
