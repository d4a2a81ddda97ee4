/**
 * What a program has put in the place of Node's own functions before Portico was loaded: preloads of `--require` run
 * before those of `--import`, and agents wrap methods of `http.ServerResponse.prototype`.
 *
 * Ours inherit from Node's prototypes, so what stands there and ours do not have works by itself. Where ours have a member
 * of the same name, theirs takes its place: a wrapper ends in Node's own function, and that works on objects of ours too
 * (`framed-output.ts`). Where it would not, a process warning says so.
 */

import { isNodesOwn } from './pristine';

/** Methods of Node's responses that work on ours. */
const WORKING: ReadonlySet<string> = new Set(['writeHead', 'writeHeader', 'write', 'end', 'flushHeaders', 'setHeader', 'getHeader', 'hasHeader',
  'setTimeout', 'destroy', 'cork', 'uncork']);
/** Methods of ours that call what they find below. */
const SUPPLEMENTED: ReadonlySet<string> = new Set(['on', 'addListener', 'prependListener', 'listen', 'closeAllConnections', 'closeIdleConnections',
  '_emitCloseIfDrained', '_isLenientHeaderValidation', 'setSecureContext', 'addContext', 'getTicketKeys', 'setTicketKeys']);

/** Members that a program replaced in vain. */
const lost: string[] = [];

/**
 * Takes members of ours away where a program has replaced Node's, so that its own are found.
 *
 * @param prototype of ours, with all its members; it inherits from Node's
 * @param name of the class, for the warning
 */
export function carryOver(prototype: object, name: string): void {
  const below = Object.getPrototypeOf(prototype) as object;
  for (const member of Object.getOwnPropertyNames(prototype)) {
    if (member === 'constructor' || SUPPLEMENTED.has(member) || isStock(below, member)) continue;
    if (WORKING.has(member)) delete (prototype as Record<string, unknown>)[member];
    else reportLost(`${name}.prototype.${member}`);
  }
}

type Factory = (...args: unknown[]) => unknown;

/**
 * A function that a module exports. Where a program has replaced Node's, theirs makes the object, and `adopt` makes it one
 * of ours.
 */
export function carryFunction(module: object, name: string, own: Factory, adopt: (made: unknown, args: unknown[]) => void): Factory {
  const exported = (module as Record<string, Factory>)[name];
  if (isNodesOwn(exported)) return own;
  const carried = function carried(this: unknown, ...args: unknown[]): unknown {
    const made = Reflect.apply(exported, this, args);
    adopt(made, args);
    return made;
  };
  // Wrappers know by properties of a function that it is wrapped.
  const { prototype: _, ...descriptors } = Object.getOwnPropertyDescriptors(exported) as Record<string, PropertyDescriptor>;
  return Object.defineProperties(carried, descriptors);
}

/** Whether a member is Node's own, or there is none. */
function isStock(object: object, member: string): boolean {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const found = Object.getOwnPropertyDescriptor(at, member);
    if (found !== undefined) return isNodesOwn(found.get ?? found.value) && isNodesOwn(found.set);
  }
  return true;
}

/** Notes what was replaced in vain; one warning names all. */
export function reportLost(name: string): void {
  lost.push(name);
  if (lost.length > 1) return;
  process.nextTick(() => {
    process.emitWarning(`Portico's servers do not use what took the place of ${lost.join(', ')} before Portico was loaded.`, {
      type: 'PorticoWarning', code: 'PORTICO_PATCHED_BEFORE',
      detail: 'Load Portico first: node --require portico/register --require the-other. Node runs every --require before the first --import.',
    });
  });
}
