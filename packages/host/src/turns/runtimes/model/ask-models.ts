import { setTimeout } from "node:timers/promises";
import type { ModelAnswer } from "./model-request.ts";
import type { OpenModel } from "./providers.ts";

const firstBackoffMs = 500;
const maxBackoffMs = 8_000;

/** Time and chance, as far as waiting for a provider needs them. */
export interface RetryClock {
  now(): number;
  random(): number;
  /** Rejects when the turn is over. */
  wait(ms: number, signal: AbortSignal): Promise<unknown>;
}

export const systemClock: RetryClock = {
  now: Date.now,
  random: Math.random,
  wait: (ms, signal) => setTimeout(ms, undefined, { signal }),
};

/** Is called with what is tried next, and why. */
export interface RetryListener {
  retry(data: { model: OpenModel; code: string; attempt: number; waitMs: number }): void;
  fallback(data: { model: OpenModel; code: string }): void;
}

/** What a request to several models needs. It does not wait beyond the deadline, in milliseconds of the clock. */
export interface Asking {
  send(model: OpenModel): Promise<ModelAnswer>;
  deadline: number;
  clock: RetryClock;
  listener: RetryListener;
  signal: AbortSignal;
}

/** Asks the models in their order until one answers, each as often as it is configured, and says which one it was. */
export async function askModels(
  models: readonly OpenModel[],
  asking: Asking,
): Promise<{ answer: ModelAnswer; model: OpenModel }> {
  const [model, ...others] = models;
  if (model === undefined) throw new RangeError("There is no model to ask.");
  const answer = await askOne(model, asking);
  const next = others[0];
  if (next === undefined || answer.kind === "reply" || answer.remedy === "none") return { answer, model };
  asking.listener.fallback({ model: next, code: answer.error.code });
  return askModels(others, asking);
}

async function askOne(model: OpenModel, { send, deadline, clock, listener, signal }: Asking): Promise<ModelAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await send(model);
    if (answer.kind === "reply" || answer.remedy !== "retry" || attempt > model.settings.retries) return answer;
    const waitMs = answer.retryAfterMs ?? backoffMs(attempt, clock.random());
    if (clock.now() + waitMs >= deadline) return answer;
    listener.retry({ model, code: answer.error.code, attempt, waitMs });
    await clock.wait(waitMs, signal);
  }
}

/** Doubles each time, up to a bound. Up to half of it is random, so that not all turns retry at the same instant. */
export function backoffMs(attempt: number, chance: number): number {
  const longest = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempt - 1));
  return Math.round(longest * (1 - chance / 2));
}
