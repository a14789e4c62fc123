/** A part of a template: a literal text, or an expression. */
type TemplatePart = { literal: string } | { hasSlashes: boolean };

/**
 * Whether a URI could be made from a template of RFC 6570. The values are not read, so it takes linear time for each part of
 * the template, whatever a server writes into it.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  let ends = new Set([0]);
  for (const part of partsOf(template)) {
    ends = "literal" in part ? afterLiteral(ends, part.literal, uri) : afterValue(ends, part.hasSlashes, uri);
    if (ends.size === 0) return false;
  }
  return ends.has(uri.length);
}

function partsOf(template: string): TemplatePart[] {
  return template.split(/(\{[^{}]*\})/).map((part) => {
    if (!part.startsWith("{") || !part.endsWith("}")) return { literal: part };
    // Only a simple expression has no operator, and encodes the slashes of its value.
    return { hasSlashes: /^\{[+#./;?&]/.test(part) };
  });
}

function afterLiteral(starts: ReadonlySet<number>, literal: string, uri: string): Set<number> {
  return new Set([...starts].filter((at) => uri.startsWith(literal, at)).map((at) => at + literal.length));
}

/** Where a value can end: anywhere behind its earliest start. A simple value is not empty and ends before the next slash. */
function afterValue(starts: ReadonlySet<number>, hasSlashes: boolean, uri: string): Set<number> {
  const ends = new Set<number>();
  let isInside = false;
  for (let at = 0; at <= uri.length; at += 1) {
    if (isInside || (hasSlashes && starts.has(at))) ends.add(at);
    isInside = (isInside || starts.has(at)) && (hasSlashes || uri[at] !== "/");
  }
  return ends;
}
