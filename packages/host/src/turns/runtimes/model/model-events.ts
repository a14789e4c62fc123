import type { JsonObject } from "turnpike/contracts";
import type { RuntimeHost } from "turnpike/runtime";
import type { RequestUsage } from "./model-usage.ts";

/** A turn may emit 20,000 events. The model's events stay below that, however long its replies are. */
const maxEvents = 15_000;
const everyMs = 100;

/** Reports what a model does as events of its turn. Text is batched every tenth of a second; arguments are not reported. */
export interface ModelEvents {
  text(step: number, delta: string): void;
  call(data: { step: number; tool: string }): void;
  retry(data: { step: number; provider: string; model: string; code: string; attempt: number; waitMs: number }): void;
  /** Another model is asked, because the one before it failed with this code. */
  fallback(data: { step: number; provider: string; model: string; code: string }): void;
  finished(data: { step: number; provider: string; model: string; finishReason: string } & RequestUsage): void;
  /** Emits the text that is still waiting. */
  flush(): void;
  /** Drops the text that is still waiting. */
  close(): void;
}

/** Opens the events of one turn. */
export function openModelEvents({ emit }: Pick<RuntimeHost, "emit">): ModelEvents {
  let emitted = 0;
  let waiting: { step: number; text: string; timer: NodeJS.Timeout } | undefined;

  const emitEvent = (type: string, data: JsonObject): void => {
    if ((emitted += 1) <= maxEvents) emit({ type, data });
  };
  const flush = (): void => {
    if (waiting === undefined) return;
    const { step, text, timer } = waiting;
    clearTimeout(timer);
    waiting = undefined;
    emitEvent("model.text", { step, text });
  };

  return {
    text(step, delta) {
      if (delta === "") return;
      waiting ??= { step, text: "", timer: setTimeout(flush, everyMs) };
      waiting.text += delta;
    },
    call(data) {
      flush();
      emitEvent("model.call", data);
    },
    retry: (data) => emitEvent("model.retry", data),
    fallback: (data) => emitEvent("model.fallback", data),
    finished: (data) => emitEvent("model.finished", { ...data }),
    flush,
    close() {
      clearTimeout(waiting?.timer);
      waiting = undefined;
    },
  };
}
