/**
 * CONNECT in a stream: to 'connect', or, where it names a protocol (RFC 8441), to 'upgrade' as the request of HTTP/1.1 that
 * asks for the same: programs that upgrade to WebSockets know no other.
 */

import { randomBytes } from 'node:crypto';
import * as layout from '../generated/layout';
import type { Stream } from '../lane/stream';
import { complete } from './body';
import type { Exchange } from './exchange';
import type { Request } from './incoming-message';
import { giveFields, rawHeaders, requestField } from './request-fields';
import { releaseFromHttp } from './socket-events';
import { TunnelAnswer } from './tunnel-answer';
import { stopFlow, wantsUpgrade } from './taking-over';

/** Name of the pseudo field that an extended CONNECT has among its fields. */
const PROTOCOL = ':protocol';
const KEY = 'sec-websocket-key';
const KEY_BYTES = 16;

/** Gives a stream to 'upgrade' or 'connect'. Where none listens, the server answers that it does no such thing. */
export function upgradeStream(exchange: Exchange, request: Request): void {
  const stream = exchange.connection as Stream;
  const { server: { server } } = stream;
  const protocol = requestField(exchange, PROTOCOL);
  if (protocol !== undefined) {
    exchange.method = 'GET';
    giveFields(exchange, request, asUpgrade(exchange, protocol));
  }
  const event = protocol === undefined ? 'connect' : 'upgrade';
  if (server.listenerCount(event) === 0 || protocol !== undefined && !wantsUpgrade(server, request)) {
    stream.lane.writer.respond(stream.token, stream.sequence, layout.RESPONSE_FLAG_END | layout.RESPONSE_FLAG_DATE, 501, 0, '', '',
      undefined, 0, undefined, 0);
    stream.finish();
    return;
  }
  stream.takeOver();
  stream.tunnelHead = new TunnelAnswer(stream);
  complete(exchange);
  const { laneSocket } = stream;
  releaseFromHttp(laneSocket);
  stopFlow(laneSocket);
  server.emit(event, request as never, laneSocket, Buffer.alloc(0));
}

/** The fields of an extended CONNECT, as HTTP/1.1 has them. The key, which only that has, is made up where there is none. */
function asUpgrade(exchange: Exchange, protocol: string): string[] {
  const fields = rawHeaders(exchange);
  const raw: string[] = [];
  for (let at = 0; at < fields.length; at += 2) if (fields[at] !== PROTOCOL) raw.push(fields[at], fields[at + 1]);
  raw.push('connection', 'Upgrade', 'upgrade', protocol);
  if (protocol === 'websocket' && requestField(exchange, KEY) === undefined) raw.push(KEY, randomBytes(KEY_BYTES).toString('base64'));
  return raw;
}
