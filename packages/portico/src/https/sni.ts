/**
 * The names of `addContext`, matched as Node does.
 */

/** A name with its context. */
export interface NamedContext {
  /** As given: a name, in which `*` stands for anything but a dot. */
  readonly pattern: string;
  readonly context: object;
}

/** The context for a name; the one that was added last wins. */
export function findContext(contexts: readonly NamedContext[], servername: string): object | undefined {
  return contexts.findLast(({ pattern }) => matches(pattern, servername))?.context;
}

function matches(pattern: string, servername: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.^$+?\-\\[\]{}()|/]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^.]*')}$`, 'i').test(servername);
}
