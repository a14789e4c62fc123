import { setTimeout as delay } from "node:timers/promises";
import { readServerSentEvents } from "turnpike/client";
import { describeIssues } from "turnpike/contracts";
import { AdminClientError, type CallTarget, sendAdmin } from "./admin-call.ts";
import { eventRoutes, type LiveEvent } from "./routes/event-routes.ts";

/** What to follow, and from where. */
export interface FollowOptions {
  namespaceId: string;
  /** The cursor of an event: what comes behind it. From now on unless given. */
  cursor?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Called with each failure after which the stream is opened again. */
  onRetry?: ((error: unknown) => void) | undefined;
}

/** One event, and the cursor behind it; reviewers get none. */
export interface FollowedEvent {
  event: LiveEvent;
  cursor?: string;
}

/** A host says something every 15 seconds. One that is silent for longer than this is not there any more. */
const silenceMs = 45_000;

/** The events of a tenant, opened again behind the last one whenever the stream breaks off. */
export async function* followEvents(
  target: CallTarget,
  { namespaceId, cursor, signal, onRetry }: FollowOptions,
  retryMs: number,
): AsyncGenerator<FollowedEvent, void> {
  const isOver = (): boolean => signal?.aborted === true;
  let place = cursor;
  let hasBegun = false;
  while (!isOver()) {
    try {
      for await (const followed of readOnce(target, { namespaceId, cursor: place, signal })) {
        place = followed.cursor ?? place;
        hasBegun = true;
        yield followed;
      }
    } catch (error) {
      if (isOver()) return;
      if (!hasBegun || !isPassing(error)) throw error;
      onRetry?.(error);
    }
    await delay(retryMs, undefined, { signal }).catch(() => {});
  }
}

/** Whether another attempt may succeed: no host answered, the stream broke off, or the host cannot right now. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof AdminClientError)) return true;
  return error.code === "unreachable" || error.status === 429 || error.status >= 500;
}

async function* readOnce(target: CallTarget, options: FollowOptions): AsyncGenerator<FollowedEvent, void> {
  const { namespaceId, cursor, signal } = options;
  const { method, path, response: schema } = eventRoutes.followEvents;
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new Error("The host says nothing any more.")), silenceMs);
  const signals = signal === undefined ? [silent.signal] : [silent.signal, signal];
  try {
    const shape = { method, path, hasBody: false };
    const response = await sendAdmin(shape, { namespaceId, cursor }, { ...target, signal: AbortSignal.any(signals) });
    if (response.body === null) return;
    for await (const { data, id } of readServerSentEvents(response.body.pipeThrough(watched(() => timer.refresh())))) {
      const event = schema.safeParse(parse(data));
      if (!event.success)
        throw new AdminClientError("invalid_response", otherVersion(describeIssues(event.error.issues)));
      yield { event: event.data, ...(id !== undefined && { cursor: id }) };
    }
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

/** Whatever comes, comments included, is a sign of life. */
function watched(onChunk: () => void): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      onChunk();
      controller.enqueue(chunk);
    },
  });
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

function otherVersion(issues: string): string {
  return `The host's answer is not understood; is it of another version? ${issues}`;
}
