import { signal } from "@preact/signals";
import type { LiveEvent } from "turnpike-host/admin-contract";
import type { WithdrawnTool } from "./messages.ts";
import { watchPage, type Page } from "./page-life.ts";
import { followTenant, type Tab, type TabPorts } from "./tab.ts";

/** What happens in the tenant that the operator is in, from a stream that all tabs of the browser share. */
export const live = {
  /** Whether the stream is open and the host was heard of within the time: otherwise the page says so. */
  isOpen: signal(false),
  /** How often a stream was opened: what has no cursor may have been missed before it. */
  opened: signal(0),
  /** How many escalations wait. */
  waiting: signal<number | undefined>(undefined),
  /** Which tools of MCP servers changed, and are withdrawn until an operator accepts them. */
  withdrawn: signal<readonly WithdrawnTool[]>([]),
};

type Listener = (event: LiveEvent) => void;

const listeners = new Set<Listener>();

/** Listens to what happens in the tenant, until the function that is returned is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** A page that comes back after longer reads everything anew instead of hearing all that happened. */
const resumableMs = 600_000;
/** How often it is asked whether anything was heard. */
const checkMs = 1000;

/** Follows a tenant while the page is there, until the function that is returned is called. */
export function follow(tenant: string, ports: TabPorts, page: Page): () => void {
  let tab: Tab | undefined;
  let cursor: string | undefined;
  let leftAt = 0;
  let heardAt: number | undefined;
  const check = (): void => {
    // A clock that was set back tells nothing about what was heard.
    live.isOpen.value = heardAt !== undefined && Math.abs(Date.now() - heardAt) < ports.silenceMs;
  };
  const close = (): void => {
    heardAt = undefined;
    check();
  };
  const begin = (): void => {
    if (tab !== undefined) return;
    const from = Date.now() - leftAt < resumableMs ? cursor : undefined;
    tab = followTenant(tenant, from, ports, {
      onOpen: () => (live.opened.value += 1),
      onHeard(at) {
        heardAt = at;
        check();
      },
      onWaiting: (count) => (live.waiting.value = count),
      onWithdrawn: (tools) => (live.withdrawn.value = tools),
      onEvent(event) {
        for (const listener of listeners) listener(event);
      },
      onClosed: close,
    });
  };
  const end = (): void => {
    cursor = tab?.cursor ?? cursor;
    leftAt = Date.now();
    tab?.close();
    tab = undefined;
    close();
  };
  const change = (): void => {
    check();
    tab?.showOrHide();
  };
  const timer = setInterval(check, checkMs);
  const stop = watchPage(page, ports.shared === undefined, { begin, end, change });
  return () => {
    stop();
    clearInterval(timer);
    end();
    live.waiting.value = undefined;
    live.withdrawn.value = [];
  };
}
