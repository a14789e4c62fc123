/** A part of a template: a text, or a variable: a plain one, or one that may hold reserved characters as well. */
type Token = { literal: string } | { variable: "plain" | "reserved" };

const expression = /^([+#]?)[\w.%]+$/;
/** What the expansion of a plain variable is made of: everything else is percent-encoded there. */
const plainCharacter = /^[\w.~%-]$/;

/**
 * Whether a URI is one that a template makes (RFC 6570, level 1 and 2: `{x}`, `{+x}` and `{#x}`, each of one variable and
 * not empty). It takes one step for each character of the URI and each part of the template. No URI fits any other template.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  const tokens = readTemplate(template);
  if (tokens === undefined) return false;
  // All places in the URI that the template may have reached are 1.
  let places = new Uint8Array(uri.length + 1);
  places[0] = 1;
  for (const token of tokens)
    places = "literal" in token ? afterText(token, places, uri) : afterValue(token, places, uri);
  return places[uri.length] === 1;
}

function afterText({ literal }: { literal: string }, starts: Uint8Array, uri: string): Uint8Array<ArrayBuffer> {
  const ends = new Uint8Array(starts.length);
  starts.forEach((isStart, at) => {
    if (isStart === 1 && uri.startsWith(literal, at)) ends[at + literal.length] = 1;
  });
  return ends;
}

/** A value ends behind each of its characters. */
function afterValue(
  { variable }: { variable: "plain" | "reserved" },
  starts: Uint8Array,
  uri: string,
): Uint8Array<ArrayBuffer> {
  const ends = new Uint8Array(starts.length);
  let isInside = false;
  for (let at = 0; at < uri.length; at += 1) {
    const isTaken = variable === "reserved" || plainCharacter.test(uri.charAt(at));
    isInside = (isInside || starts[at] === 1) && isTaken;
    if (isInside) ends[at + 1] = 1;
  }
  return ends;
}

function readTemplate(template: string): Token[] | undefined {
  const tokens: Token[] = [];
  let rest = template;
  while (rest !== "") {
    const opened = rest.indexOf("{");
    const text = opened === -1 ? rest : rest.slice(0, opened);
    if (text.includes("}")) return undefined;
    if (text !== "") tokens.push({ literal: text });
    if (opened === -1) break;
    const closed = rest.indexOf("}", opened);
    const [, operator] = expression.exec(rest.slice(opened + 1, closed === -1 ? opened : closed)) ?? [];
    if (operator === undefined) return undefined;
    if (operator === "#") tokens.push({ literal: "#" });
    tokens.push({ variable: operator === "" ? "plain" : "reserved" });
    rest = rest.slice(closed + 1);
  }
  return tokens;
}
