import { findChangedNumber } from "turnpike/contracts";

/** The code of the error that replaces an answer with a number that parsing would change. */
export const changedNumberCode = -32_097;

/** Lists are exempt: bounds of 64 bits are common in schemas, and rounding them has no effect. */
const lists: ReadonlySet<unknown> = new Set(["tools", "resources", "resourceTemplates", "prompts"]);

/**
 * Replaces a message of a server with an error when its result has a number that parsing would change. Otherwise a caller
 * might act on something else that has the changed number.
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
