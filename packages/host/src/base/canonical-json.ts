/**
 * JSON with sorted keys: one text for values that differ in nothing but the order of their keys. What is stored and signed
 * is hashed in this form, so it never changes.
 */
export function canonicalJson(value: unknown): string {
  const sorted = sortKeys(value);
  return sorted === unsortable ? writeSorted(value) : (JSON.stringify(sorted) ?? "null");
}

const unsortable = Symbol("unsortable");

/** Copies of what can never change: principals come with every event of their acts. */
const sortedCopies = new WeakMap<object, object>();

/**
 * A copy with sorted keys: the engine writes it in half the time that it takes key by key. It keeps the order of names only:
 * keys of digits come first in every object, and `__proto__` is no key. What has other keys is not copied.
 */
function sortKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = sortedCopies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const members = value.map(sortKeys);
    return members.includes(unsortable) ? unsortable : members;
  }
  const sorted: Record<string, unknown> = {};
  let isFlat = true;
  for (const key of Object.keys(value).toSorted()) {
    const member = isName(key) ? sortKeys((value as Record<string, unknown>)[key]) : unsortable;
    if (member === unsortable) return unsortable;
    isFlat &&= typeof member !== "object";
    sorted[key] = member;
  }
  if (isFlat && Object.isFrozen(value)) sortedCopies.set(value, sorted);
  return sorted;
}

function isName(key: string): boolean {
  const first = key.charCodeAt(0);
  return (first >= 97 && first <= 122) || (first >= 65 && first <= 90);
}

function writeSorted(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  const members = Object.keys(value)
    .toSorted()
    .flatMap((key) => {
      const member = (value as Record<string, unknown>)[key];
      return member === undefined ? [] : `${JSON.stringify(key)}:${writeSorted(member)}`;
    });
  return `{${members.join(",")}}`;
}
