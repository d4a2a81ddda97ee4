/**
 * `for (const name in response)` and its like: a member of ours is listed where Node's of that name is, whether Node has
 * it on the object or on a prototype.
 */

/** Names that no constructor of Node's sets, but its server when it has an object. */
const SET_BY_SERVER: ReadonlySet<string> = new Set(['_httpMessage', '_maxRequestsPerSocket']);

/**
 * Makes a prototype's members as enumerable as Node's.
 *
 * @param prototype of ours, with all its members
 * @param samples objects of Node's; the first that has the member decides
 */
export function enumerateAsNode(prototype: object, ...samples: object[]): void {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
    const sample = samples.find((object) => name in object);
    const enumerable = SET_BY_SERVER.has(name) || name !== 'constructor' && sample !== undefined && isEnumerable(sample, name);
    if (descriptor.enumerable !== enumerable) Object.defineProperty(prototype, name, { ...descriptor, enumerable });
  }
}

function isEnumerable(sample: object, name: string): boolean {
  for (let object: object | null = sample; object !== null; object = Object.getPrototypeOf(object) as object | null) {
    const found = Object.getOwnPropertyDescriptor(object, name);
    if (found !== undefined) return found.enumerable === true;
  }
  return false;
}
