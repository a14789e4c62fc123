/** One character of a template, or a variable: a plain one, or one that may hold reserved characters as well. */
type Token = { literal: string } | { variable: "plain" | "reserved" };

const expression = /^([+#]?)[\w.%]+$/;
/** What the expansion of a plain variable is made of: everything else is percent-encoded there. */
const plainCharacter = /^[\w.~%-]$/;

/**
 * Whether a URI is one that a template makes (RFC 6570, level 1 and 2: `{x}`, `{+x}` and `{#x}`, each of one variable and
 * not empty). It takes one step for each character of the URI, whatever the template is. No URI fits any other template.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  const tokens = readTemplate(template);
  if (tokens === undefined) return false;
  // All places in the template that the URI may have reached.
  let places = new Set([0]);
  for (const character of uri) {
    const reached = new Set<number>();
    for (const place of places) {
      const token = tokens[place];
      if (token === undefined || !takes(token, character)) continue;
      reached.add(place + 1);
      if ("variable" in token) reached.add(place);
    }
    places = reached;
  }
  return places.has(tokens.length);
}

function takes(token: Token, character: string): boolean {
  if ("literal" in token) return token.literal === character;
  return token.variable === "reserved" || plainCharacter.test(character);
}

function readTemplate(template: string): Token[] | undefined {
  const tokens: Token[] = [];
  let rest = template;
  while (rest !== "") {
    const opened = rest.indexOf("{");
    const text = opened === -1 ? rest : rest.slice(0, opened);
    if (text.includes("}")) return undefined;
    for (const literal of text) tokens.push({ literal });
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
