import type { JsonObject } from "turnpike/contracts";
import type { RuntimeHost } from "turnpike/runtime";

/** A turn may emit 20,000 events; ours stay below, however long it talks. */
const maxEvents = 15_000;
const everyMs = 100;

/** What a model does, as events of its turn. Text comes in pieces of a tenth of a second, arguments do not come at all. */
export interface ModelEvents {
  text(step: number, delta: string): void;
  call(data: { step: number; tool: string }): void;
  finished(data: { step: number; finishReason: string; usage: JsonObject }): void;
  /** Says what text is still waiting. */
  flush(): void;
  /** Lets go of it. */
  close(): void;
}

/** Tells a turn what its model does. */
export function openModelEvents({ emit }: Pick<RuntimeHost, "emit">): ModelEvents {
  let emitted = 0;
  let waiting: { step: number; text: string; timer: NodeJS.Timeout } | undefined;

  const say = (type: string, data: JsonObject): void => {
    if ((emitted += 1) <= maxEvents) emit({ type, data });
  };
  const flush = (): void => {
    if (waiting === undefined) return;
    const { step, text, timer } = waiting;
    clearTimeout(timer);
    waiting = undefined;
    say("model.text", { step, text });
  };

  return {
    text(step, delta) {
      if (delta === "") return;
      waiting ??= { step, text: "", timer: setTimeout(flush, everyMs) };
      waiting.text += delta;
    },
    call(data) {
      flush();
      say("model.call", data);
    },
    finished: (data) => say("model.finished", data),
    flush,
    close() {
      clearTimeout(waiting?.timer);
      waiting = undefined;
    },
  };
}
