import { wrapLanguageModel } from "ai";
import { findChangedNumber } from "turnpike/contracts";

type Model = Parameters<typeof wrapLanguageModel>[0]["model"];

/**
 * The model, with a look at the text of a call's arguments before the SDK parses it. `onProblem` is told of each call whose
 * arguments have a number that parsing would change.
 */
export function withExactArguments(model: Model, onProblem: (toolCallId: string, problem: string) => void): Model {
  const watched = async ({ doStream }: { doStream(): ReturnType<Model["doStream"]> }) => {
    const { stream, ...rest } = await doStream();
    const watch = new TransformStream<PartOf<typeof stream>, PartOf<typeof stream>>({
      transform(part, controller) {
        if (part.type === "tool-call") {
          const changed = findChangedNumber(part.input);
          if (changed !== undefined) onProblem(part.toolCallId, changed.message);
        }
        controller.enqueue(part);
      },
    });
    return { stream: stream.pipeThrough(watch), ...rest };
  };
  return wrapLanguageModel({ model, middleware: { specificationVersion: "v3", wrapStream: watched } });
}

type PartOf<Stream> = Stream extends ReadableStream<infer Part> ? Part : never;

const newline = 0x0a;
const beginning = "data:";

/**
 * The events of Gemini have arguments as JSON of their own instead of a text, so the SDK has parsed them before anybody could
 * look. In an event with a number that parsing would change, a number that is refused stands in their place.
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
