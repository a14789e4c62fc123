import { setTimeout as delay } from "node:timers/promises";
import { errorFacts, type Log, type Metrics } from "../observe/index.ts";
import { attempt, failureText } from "./attempt.ts";
import type { Notices } from "./notices.ts";
import { longestWaitMs, type Outbox, type Taken } from "./outbox.ts";
import type { Webhook } from "./webhook.ts";

/** What the sender uses. */
export interface SenderOptions {
  webhooks: readonly Webhook[];
  outbox: Outbox;
  notices: Pick<Notices, "setWaiting">;
  /** Finds escalations that nobody answered in time, some at a time; returns how many it found. */
  expire(now: string, most: number): Promise<number>;
  /** Whether other hosts send from the same outbox. */
  isShared: boolean;
  clock(): Date;
  log: Log;
  metrics: Pick<Metrics, "webhookMessages">;
  /** How often to look for something to send. */
  lookMs?: number;
  /** How long one attempt may take. */
  attemptMs?: number;
  /** How long to wait for the attempt on its way when the host stops. */
  graceMs?: number;
}

/** Sends what waits in the outbox, in the background. Nobody waits for it. */
export interface Sender {
  start(): void;
  close(): Promise<void>;
}

const expiredAtOnce = 100;
const firstRetryMs = 4_000;
/** From when a message was made; it is tried once at least. */
const giveUpMs = 86_400_000;
const gone = 410;

/** How long to wait after so many attempts failed. Not all hosts and webhooks come back at the same moment. */
export function retryMs(attempts: number, random = Math.random()): number {
  return Math.min(longestWaitMs, firstRetryMs * 2 ** (attempts - 1)) * (0.5 + random / 2);
}

/**
 * The sender of a host: each webhook gets its messages one at a time, in the order in which they were made. One that fails
 * holds back those behind it until it is sent or given up.
 */
export function createSender(options: SenderOptions): Sender {
  const { webhooks, outbox, notices, clock, log, metrics, attemptMs = 10_000, graceMs = 1_000 } = options;
  // Without webhooks what expired is marked, so that one that comes later is not told of the past.
  const { lookMs = webhooks.length > 0 ? 1_000 : 60_000 } = options;
  const stopping = new AbortController();
  const breaking = new AbortController();
  const sending = new Map<Webhook, Promise<void>>();
  let looking: Promise<void> | undefined;
  let isPrepared = false;

  /** What the configuration does not name any more is dropped, and on a database of its own nothing waits for a dead host. */
  const prepare = async (): Promise<void> => {
    const dropped = await outbox.keepOnly(webhooks);
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
    const signal = AbortSignal.any([breaking.signal, AbortSignal.timeout(attemptMs)]);
    const answer = await attempt(webhook, taken, clock(), signal);
    if ("status" in answer && answer.status >= 200 && answer.status < 300) {
      await outbox.finish(taken, { state: "delivered", at: clock() });
      metrics.webhookMessages("sent");
      return;
    }
    // The host stops: whoever looks next sends it.
    if (breaking.signal.aborted) return outbox.postpone(taken, clock());
    metrics.webhookMessages("failed");
    const { message, attempts, created_at } = taken;
    const facts = { webhook: webhook.shown, message, attempts, ...answer };
    if ("status" in answer && answer.status === gone) {
      webhook.isGone = true;
      log.error({ ...facts, dropped: await drop(webhook) }, "webhook is gone: nothing is sent there until a restart");
      return;
    }
    if (clock().getTime() - Date.parse(created_at) >= giveUpMs) {
      await outbox.finish(taken, { state: "failed", at: clock(), error: failureText(answer) });
      metrics.webhookMessages("dropped");
      log.error(facts, "message to a webhook given up");
      return;
    }
    const waitMs = retryMs(attempts);
    await outbox.postpone(taken, new Date(clock().getTime() + waitMs), failureText(answer));
    log.warn({ ...facts, retryMs: Math.round(waitMs) }, "webhook not told, tried again later");
  };

  const sendAll = async (webhook: Webhook): Promise<void> => {
    // What another host wrote before it heard that the webhook is gone.
    if (webhook.isGone) return void (await drop(webhook));
    while (!stopping.signal.aborted && !webhook.isGone) {
      const taken = await outbox.take(webhook, clock());
      if (taken === undefined) return;
      await deliver(webhook, taken);
    }
  };
  const onError = (error: unknown): void => log.error(errorFacts(error), "outbox not read or written");

  const expireAll = async (): Promise<void> => {
    let marked = expiredAtOnce;
    while (marked === expiredAtOnce && !stopping.signal.aborted)
      marked = await options.expire(clock().toISOString(), expiredAtOnce);
  };

  const look = async (): Promise<void> => {
    if (!isPrepared) await prepare();
    // What waits is sent, whatever is wrong with what expired.
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
      await look().catch(onError);
      await delay(lookMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  };

  return {
    start: () => void (looking ??= run()),
    async close() {
      stopping.abort();
      await looking;
      const sent = Promise.all(sending.values());
      await Promise.race([sent, delay(graceMs, undefined, { ref: false })]);
      breaking.abort();
      await sent;
    },
  };
}
