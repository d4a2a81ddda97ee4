/** `respondWithFile` and `respondWithFD`: what is checked of the file, and its bytes as the answer's body. */

import fs = require('node:fs');
import * as errors from './errors';
import { copyOf, statusOf, type Fields } from './fields';
import type { ServerHttp2Stream } from './server-stream';

/** Options of both. */
export interface FileOptions {
  offset?: number;
  length?: number;
  statCheck?: (this: ServerHttp2Stream, stat: fs.Stats, headers: Fields, range: { offset: number; length: number }) => unknown;
  onError?: (error: Error) => void;
  waitForTrailers?: boolean;
  sendDate?: boolean;
}

const NO_CONTENT = new Set([204, 205, 304]);

/** Answers with a file that is opened here. */
export function sendFile(stream: ServerHttp2Stream, path: string, given: unknown, options: FileOptions = {}): void {
  const headers = check(stream, given, options);
  const fail = (error: Error): void => {
    if (options.onError !== undefined) options.onError(error);
    else stream.destroy(error);
  };
  fs.open(path, 'r', (error, fd) => {
    if (error !== null) return fail(error);
    fs.fstat(fd, (failure, stat) => {
      const refused = failure ?? refusal(stat, options);
      if (refused === undefined && isOpen(stream)) return send(stream, fd, headers, options, stat, true);
      fs.close(fd, () => undefined);
      if (refused !== undefined) fail(refused);
      else stream.destroy(errors.http2Error('ERR_HTTP2_INVALID_STREAM'));
    });
  });
}

/** Answers with a file that the program has open. */
export function sendOpenFile(stream: ServerHttp2Stream, file: unknown, given: unknown, options: FileOptions = {}): void {
  const fd = typeof file === 'number' ? file : (file as { fd?: number } | null)?.fd;
  const headers = check(stream, given, options);
  if (typeof fd !== 'number') throw errors.invalidType('fd', 'of type number or an instance of FileHandle', file);
  if (options.statCheck === undefined) return send(stream, fd, headers, options, undefined, false);
  fs.fstat(fd, (error, stat) => {
    if (error !== null) stream.destroy(error);
    else if (isOpen(stream)) send(stream, fd, headers, options, stat, false);
    else stream.destroy(errors.http2Error('ERR_HTTP2_INVALID_STREAM'));
  });
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed;
}

function check(stream: ServerHttp2Stream, given: unknown, options: FileOptions): Fields {
  for (const name of ['offset', 'length'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'number') throw errors.invalidValue(`options.${name}`, options[name]);
  }
  if (options.statCheck !== undefined && typeof options.statCheck !== 'function') throw errors.invalidValue('options.statCheck', options.statCheck);
  const { status, sent } = statusOf(given, options.sendDate ?? true);
  if (NO_CONTENT.has(status) || stream.headRequest) throw errors.payloadForbidden(status);
  return copyOf(sent);
}

/** Why a file that was opened for its path can't be sent. */
function refusal(stat: fs.Stats, { offset, length }: FileOptions): Error | undefined {
  if (stat.isFile()) return undefined;
  if (stat.isDirectory()) return errors.http2Error('ERR_HTTP2_SEND_FILE');
  return offset !== undefined || length !== undefined ? errors.http2Error('ERR_HTTP2_SEND_FILE_NOSEEK') : undefined;
}

function send(stream: ServerHttp2Stream, fd: number, headers: Fields, options: FileOptions, stat: fs.Stats | undefined, isOwn: boolean): void {
  const range = { offset: options.offset ?? 0, length: options.length ?? -1 };
  if (options.statCheck !== undefined && stat !== undefined && options.statCheck.call(stream, stat, headers, range) === false || stream.headersSent) {
    if (isOwn) fs.close(fd, () => undefined);
    return;
  }
  const isSeekable = stat === undefined || stat.isFile();
  if (isOwn && stat?.isFile() === true) {
    const rest = stat.size - range.offset;
    range.length = range.length < 0 ? rest : Math.min(rest, range.length);
    headers['content-length'] = range.length;
  }
  try {
    stream.respondForFile(headers, { waitForTrailers: options.waitForTrailers === true, sendDate: options.sendDate ?? true });
  } catch (error) {
    if (isOwn) fs.close(fd, () => undefined);
    stream.destroy(error as Error);
    return;
  }
  if (range.length === 0) {
    if (isOwn) fs.close(fd, () => undefined);
    stream.endFile();
    return;
  }
  const positions = isSeekable ? { start: range.offset, ...(range.length >= 0 && { end: range.offset + range.length - 1 }) } : {};
  const source = fs.createReadStream('', { fd, autoClose: isOwn, ...positions });
  source.on('error', () => stream.close(2));
  // To destroy it closes the file, whoever opened it.
  stream.on('close', () => { if (isOwn) source.destroy(); });
  source.on('data', (chunk) => {
    source.pause();
    stream.sendFileBytes(chunk as Buffer, () => void source.resume());
  });
  source.on('end', () => stream.endFile());
}
