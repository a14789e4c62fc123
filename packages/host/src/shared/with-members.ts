/**
 * The same object with some members replaced. Everything else is passed through: methods are called on the object itself, and
 * later changes of the object are visible here.
 */
export function withMembers<T extends object>(object: T, members: Partial<T>): T {
  const whole: Record<PropertyKey, unknown> = {};
  for (const key of keysOf(object)) {
    const get = (): unknown => {
      const member = Reflect.get(object, key) as unknown;
      return typeof member === "function" ? member.bind(object) : member;
    };
    Object.defineProperty(whole, key, { get, enumerable: true, configurable: true });
  }
  for (const [key, value] of Object.entries(members))
    Object.defineProperty(whole, key, { value, enumerable: true, configurable: true });
  return whole as T;
}

/** The keys of an object and of the classes that it is made of. */
function keysOf(object: object): Set<PropertyKey> {
  const keys = new Set<PropertyKey>();
  for (let at: unknown = object; typeof at === "object" && at !== null && at !== Object.prototype;) {
    for (const key of Reflect.ownKeys(at)) if (key !== "constructor") keys.add(key);
    at = Object.getPrototypeOf(at);
  }
  return keys;
}
