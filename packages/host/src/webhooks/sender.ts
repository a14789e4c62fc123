import { setTimeout as delay } from "node:timers/promises";
import { timeoutSignal } from "../shared/index.ts";
import { errorFacts, type Log, type Metrics } from "../telemetry/index.ts";
import { attempt, failureText } from "./attempt.ts";
import type { Notices } from "./notices.ts";
import { longestWaitMs, type Outbox, type Taken } from "./outbox.ts";
import type { Webhook } from "./webhook.ts";

/** What the sender uses. */
export interface SenderOptions {
  webhooks: readonly Webhook[];
  outbox: Outbox;
  notices: Pick<Notices, "setWaiting">;
  /** Marks some escalations that were not answered in time. Returns how many. */
  expire(now: string, most: number): Promise<number>;
  /** Whether other hosts send from the same outbox. */
  isShared: boolean;
  /** Whether a newer version has changed the database so that this host may not send from it. */
  isTooOld(): boolean;
  clock(): Date;
  log: Log;
  metrics: Pick<Metrics, "webhookMessages">;
  /** How often to poll for something to send. */
  pollMs?: number;
  /** How long one attempt may take. */
  attemptMs?: number;
  /** How long to wait for the attempt on its way when the host stops. */
  graceMs?: number;
}

/** Sends the messages of the outbox in the background. */
export interface Sender {
  start(): void;
  close(): Promise<void>;
}

const expiredAtOnce = 100;
const firstRetryMs = 4_000;
/** How long after it was made a message is given up. It is tried at least once. */
const giveUpMs = 86_400_000;
const gone = 410;

/** How long to wait after so many failed attempts. It is random in part, so that not all retries come at the same instant. */
export function retryMs(attempts: number, random = Math.random()): number {
  return Math.min(longestWaitMs, firstRetryMs * 2 ** (attempts - 1)) * (0.5 + random / 2);
}

/**
 * The sender of a host: each webhook gets its messages one at a time, in the order in which they were made. One that fails
 * holds back those behind it until it is sent or given up.
 */
export function createSender(options: SenderOptions): Sender {
  const { webhooks, outbox, notices, clock, log, metrics, attemptMs = 10_000, graceMs = 1_000 } = options;
  // Without webhooks expired escalations are still marked, so that a webhook that is added later is not told of old ones.
  const { pollMs = webhooks.length > 0 ? 1_000 : 60_000 } = options;
  const stopping = new AbortController();
  const breaking = new AbortController();
  const isHalted = (): boolean => stopping.signal.aborted || options.isTooOld();
  const sending = new Map<Webhook, Promise<void>>();
  let polling: Promise<void> | undefined;
  let isPrepared = false;

  /** Drops messages of webhooks that are no longer configured. On a database of its own, no message waits for a dead host. */
  const prepare = async (): Promise<void> => {
    const dropped = await outbox.removeAllBut(webhooks);
    metrics.webhookMessages("dropped", dropped);
    if (dropped > 0) log.warn({ dropped }, "messages dropped for webhooks that are not configured any more");
    if (!options.isShared) await outbox.retryAll();
    isPrepared = true;
  };

  const drop = async (webhook: Webhook): Promise<number> => {
    const error = `the receiver answered ${gone}: nothing is sent there until a restart`;
    const dropped = await outbox.finishAll(webhook, { state: "failed", at: clock(), error });
    metrics.webhookMessages("dropped", dropped);
    return dropped;
  };

  const deliver = async (webhook: Webhook, taken: Taken): Promise<void> => {
    const signal = AbortSignal.any([breaking.signal, timeoutSignal(attemptMs)]);
    const answer = await attempt(webhook, taken, clock(), signal);
    if ("status" in answer && answer.status >= 200 && answer.status < 300) {
      await outbox.finish(taken, { state: "delivered", at: clock() });
      metrics.webhookMessages("sent");
      return;
    }
    // The host stops, so the next host that polls sends it.
    if (breaking.signal.aborted) return outbox.postpone(taken, clock());
    metrics.webhookMessages("failed");
    const { message, attempts, created_at } = taken;
    const facts = { webhook: webhook.shown, message, attempts, ...answer };
    if ("status" in answer && answer.status === gone) {
      webhook.isGone = true;
      log.error(
        { ...facts, dropped: await drop(webhook) },
        "could not send to webhook, it is gone: will send nothing until a restart",
      );
      return;
    }
    if (clock().getTime() - Date.parse(created_at) >= giveUpMs) {
      await outbox.finish(taken, { state: "failed", at: clock(), error: failureText(answer) });
      metrics.webhookMessages("dropped");
      log.error(facts, "could not send to webhook, will not retry");
      return;
    }
    const waitMs = retryMs(attempts);
    await outbox.postpone(taken, new Date(clock().getTime() + waitMs), failureText(answer));
    log.warn({ ...facts, retryMs: Math.round(waitMs) }, "could not send to webhook, will retry");
  };

  const sendAll = async (webhook: Webhook): Promise<void> => {
    // Another host wrote these before it learned that the webhook is gone.
    if (webhook.isGone) return void (await drop(webhook));
    while (!isHalted() && !webhook.isGone) {
      const taken = await outbox.take(webhook, clock());
      if (taken === undefined) return;
      await deliver(webhook, taken);
    }
  };
  const onError = (error: unknown): void => log.error(errorFacts(error), "could not read or write outbox, will retry");

  const expireAll = async (): Promise<void> => {
    let marked = expiredAtOnce;
    while (marked === expiredAtOnce && !isHalted()) marked = await options.expire(clock().toISOString(), expiredAtOnce);
  };

  const poll = async (): Promise<void> => {
    if (isHalted()) return;
    if (!isPrepared) await prepare();
    // Messages are sent even if marking expired escalations fails.
    await expireAll().catch(onError);
    for (const webhook of webhooks) {
      if (webhook.events.has("decision.denied"))
        notices.setWaiting(webhook, await outbox.countOf(webhook, "decision.denied"));
      if (sending.has(webhook)) continue;
      const sent = sendAll(webhook)
        .catch(onError)
        .finally(() => void sending.delete(webhook));
      sending.set(webhook, sent);
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await poll().catch(onError);
      await delay(pollMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  };

  return {
    start: () => void (polling ??= run()),
    async close() {
      stopping.abort();
      await polling;
      const sent = Promise.all(sending.values());
      await Promise.race([sent, delay(graceMs, undefined, { ref: false })]);
      breaking.abort();
      await sent;
    },
  };
}
