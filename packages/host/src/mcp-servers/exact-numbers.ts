import { findChangedNumber } from "turnpike/contracts";

/** The code of the error that takes the place of an answer with a number that would be changed on its way. */
export const changedNumberCode = -32_097;

/** Lists describe a server. Bounds of 64 bits are common in schemas, and what is rounded there decides nothing. */
const lists: ReadonlySet<unknown> = new Set(["tools", "resources", "resourceTemplates", "prompts"]);

/**
 * A message of a server, or the error in its place when its result has a number that parsing would change: a caller would
 * take it for what the tool said, and perhaps act on something else of that number.
 */
export function withExactNumbers(message: Buffer): Buffer {
  const changed = findChangedNumber(message);
  const [result, part] = changed?.path ?? [];
  if (changed === undefined || result !== "result" || lists.has(part)) return message;
  const id = idIn(message);
  const error = { code: changedNumberCode, message: changed.message.slice("/result".length) };
  return id === undefined ? message : Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, error }));
}

/** The id of the request that a message answers; undefined when it is no JSON. */
function idIn(message: Buffer): unknown {
  try {
    return (JSON.parse(message.toString("utf8")) as { id?: unknown }).id;
  } catch {
    return undefined;
  }
}
