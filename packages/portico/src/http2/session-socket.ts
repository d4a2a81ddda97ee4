/** `session.socket`: the connection's socket, without what would disturb the session, as `node:http2` shows it. */

import * as errors from './errors';

/** What it needs of a session. */
interface Owner {
  /** Undefined: the session is over. */
  readonly boundSocket: object | undefined;
}

/** Members that are the session's own. */
const OF_SESSION = new Set<PropertyKey>(['setTimeout', 'ref', 'unref']);
/** Members that would disturb it. */
const FORBIDDEN = new Set<PropertyKey>([
  'destroy', 'emit', 'end', 'pause', 'read', 'resume', 'write', 'setEncoding', 'setKeepAlive', 'setNoDelay',
]);

const HANDLER: ProxyHandler<Owner> = {
  get(session, name) {
    const target = targetOf(session, name);
    const value: unknown = Reflect.get(target, name);
    return typeof value === 'function' ? (value as () => void).bind(target) : value;
  },
  set(session, name, value) {
    return Reflect.set(targetOf(session, name), name, value);
  },
  getPrototypeOf(session) {
    return Reflect.getPrototypeOf(bound(session));
  },
};

/** The socket of a session. */
export function proxySocket(session: Owner): object {
  return new Proxy(session, HANDLER);
}

function targetOf(session: Owner, name: PropertyKey): object {
  if (OF_SESSION.has(name)) return session;
  if (FORBIDDEN.has(name)) throw errors.http2Error('ERR_HTTP2_NO_SOCKET_MANIPULATION');
  return bound(session);
}

function bound({ boundSocket }: Owner): object {
  if (boundSocket === undefined) throw errors.http2Error('ERR_HTTP2_SOCKET_UNBOUND');
  return boundSocket;
}
