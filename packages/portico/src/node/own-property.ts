/**
 * Own, plain properties on objects whose prototype has an accessor of the same name, where assignment would not do.
 *
 * `Object.defineProperty` is a call into V8's runtime: about 500 ns each, and a POST that is read and answered made
 * three. A class field defines too, and is an inline cache: 20 to 60 ns. The class extends a function that returns the
 * object it is given, so its field goes onto that object.
 */

/** Sets a property of its name: writable, configurable and enumerable. */
export type Define = (target: object, value: unknown) => void;

/** What the classes below extend: the object under construction is the given one. */
export const Given = function given(object: object): object { return object; } as unknown as new (object: object) => object;

const byName = new Map<string | symbol, Define>();

/** The function that defines `name`; get it once, when the accessor is made. */
export function definerOf(name: string | symbol): Define {
  let define = byName.get(name);
  if (define === undefined) byName.set(name, define = makeDefiner(name));
  return define;
}

function makeDefiner(name: string | symbol): Define {
  let next: unknown;
  class Field extends Given {
    [name] = next;
  }
  return (target, value) => {
    next = value;
    new Field(target);
    // Nothing stays alive for its having been defined.
    next = undefined;
  };
}
