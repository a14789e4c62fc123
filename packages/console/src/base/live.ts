import type { LiveEvent } from "turnpike-host/management";
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

/** A browser opens a stream that breaks again, but not one that was refused: that is tried again after this long. */
const againMs = 5000;

function open(tenant: string): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource;
  const begin = (): void => {
    source = new EventSource(`/admin/v1/events?${new URLSearchParams({ namespaceId: tenant }).toString()}`);
    source.addEventListener("open", () => (live.isOpen.value = true));
    source.addEventListener("error", () => {
      live.isOpen.value = false;
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(begin, againMs);
    });
    source.addEventListener("message", ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as LiveEvent;
      if (event.kind === "waiting") live.waiting.value = event.count;
      for (const listener of listeners) listener(event);
    });
  };
  begin();
  return () => {
    clearTimeout(timer);
    source.close();
  };
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
