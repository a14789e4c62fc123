import { findChangedNumber } from "turnpike/contracts";

const newline = 0x0a;
const beginning = "data:";

/**
 * Events of Gemini have arguments as JSON instead of as a text, so the SDK parses them before they can be checked. In an event
 * with a number that parsing would change, the arguments are replaced by a number, which is refused.
 */
export function markChangedArguments(): TransformStream<Uint8Array, Uint8Array> {
  let rest = Buffer.alloc(0);
  return new TransformStream({
    transform(chunk, controller) {
      const both = Buffer.concat([rest, chunk]);
      const end = both.lastIndexOf(newline) + 1;
      rest = both.subarray(end);
      if (end > 0) controller.enqueue(Buffer.from(both.toString("utf8", 0, end).split("\n").map(marked).join("\n")));
    },
    flush(controller) {
      if (rest.length > 0) controller.enqueue(Buffer.from(marked(rest.toString("utf8"))));
    },
  });
}

function marked(line: string): string {
  if (!line.startsWith(beginning) || findChangedNumber(line.slice(beginning.length)) === undefined) return line;
  try {
    const refused = { arguments: 2 ** 53 };
    const event: unknown = JSON.parse(line.slice(beginning.length), (key, value: unknown) =>
      key === "args" ? refused : value,
    );
    return `${beginning} ${JSON.stringify(event)}`;
  } catch {
    return line;
  }
}
