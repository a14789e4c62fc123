import type { LiveEvent } from "turnpike-host/management";
import { AdminClientError, readServerSentEvents } from "turnpike-host/management/call";
import { send } from "./api.ts";
import { place } from "./place.ts";
import { session } from "./session.ts";
import { effect, signal } from "@preact/signals";

/** The event stream of the tenant that somebody is in: one for the whole page. */
export const live = {
  /** Whether the stream is open: without it the page says so. */
  isOpen: signal(false),
  /** How many escalations wait. */
  waiting: signal<number | undefined>(undefined),
};

type Listener = (event: LiveEvent) => void;

const listeners = new Set<Listener>();

/** Listens to what happens in the tenant, until the function that is returned is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** After this long a stream that broke off or was refused is opened again. */
const againMs = 3000;

/** Follows a tenant until the function that is returned is called. An `EventSource` could not send the page's half of the session. */
function open(tenant: string): () => void {
  const closing = new AbortController();
  void follow(tenant, closing.signal);
  return () => closing.abort();
}

async function follow(tenant: string, closed: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  while (!closed.aborted) {
    try {
      const { body } = await send("followEvents", { namespaceId: tenant, cursor }, closed);
      live.isOpen.value = true;
      for await (const { data, id } of readServerSentEvents(body ?? new ReadableStream())) {
        cursor = id ?? cursor;
        hear(JSON.parse(data) as LiveEvent);
      }
    } catch (error) {
      // Such as a cursor behind the end of a trail that was restored.
      if (error instanceof AdminClientError && error.status === 400) cursor = undefined;
    }
    if (closed.aborted) return;
    live.isOpen.value = false;
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

function hear(event: LiveEvent): void {
  if (event.kind === "waiting") live.waiting.value = event.count;
  for (const listener of listeners) listener(event);
}

/** Keeps one stream open while there is somebody and a tenant. */
export function startLive(): void {
  let tenant: string | undefined;
  let close = (): void => {};
  effect(() => {
    const wanted = session.current.value && !session.isLost.value ? place.value.tenant : undefined;
    if (wanted === tenant) return;
    tenant = wanted;
    close();
    close = wanted === undefined ? () => {} : open(wanted);
    live.isOpen.value = false;
    live.waiting.value = undefined;
  });
}
