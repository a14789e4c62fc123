import { wrapLanguageModel } from "ai";
import { findChangedNumber } from "turnpike/contracts";

type Model = Parameters<typeof wrapLanguageModel>[0]["model"];

/**
 * The model, with a check of the text of a call's arguments before the SDK parses it. `onProblem` is called for each call whose
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
