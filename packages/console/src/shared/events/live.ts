import { effect } from "@preact/signals";
import { send } from "../api.ts";
import { place } from "../place.ts";
import { pageHalf, session } from "../session.ts";
import { electByLock } from "./election.ts";
import { follow } from "./following.ts";
import type { Message } from "./messages.ts";
import type { TabPorts } from "./tab.ts";

export { listen, live } from "./following.ts";

/** Follows the tenant of the address while an operator is signed in and a tenant is chosen. */
export function startLive(): void {
  let key: string | undefined;
  let stop = (): void => {};
  effect(() => {
    const current = session.isLost.value ? undefined : session.current.value;
    const { tenant } = place.value;
    const half = pageHalf.read();
    const wanted =
      current && tenant && JSON.stringify([current.operator.id, current.expiresAt, checksum(half), tenant]);
    if (wanted === key) return;
    key = wanted;
    stop();
    stop = () => {};
    if (current === undefined || tenant === undefined) return;
    // Tabs of one session share a stream. One of another operator, or of another sign-in, never hears of it.
    const name = `turnpike ${current.operator.id} ${current.expiresAt ?? ""} ${checksum(half)}`;
    stop = follow(tenant, browserPorts(name, half), { window: globalThis, document, isShown });
  });
}

function isShown(): boolean {
  return document.visibilityState === "visible";
}

/** Tells sessions apart in a name, which is no place for a secret. */
function checksum(text: string): string {
  let sum = 0;
  for (const character of text) sum = (Math.imul(sum, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return sum.toString(36);
}

function browserPorts(name: string, half: string): TabPorts {
  return {
    async open(tenant, cursor, signal) {
      if (pageHalf.read() !== half) throw new Error("Another tab has begun another session.");
      const { body } = await send("followEvents", { namespaceId: tenant, cursor }, signal);
      if (body === null) throw new Error("The host answers with no stream.");
      return body;
    },
    shared: sharedBy(name),
    isShown,
    makeId: () => crypto.getRandomValues(new Uint32Array(3)).join("-"),
    // Something is said to be live only while the host was heard of within this time. It says something every 15 seconds.
    silenceMs: 45_000,
    retryMs: 2000,
    everyMs: 10_000,
    answerMs: 4000,
  };
}

/** A page that came by plain http from another machine has no locks. */
function sharedBy(name: string): TabPorts["shared"] {
  const { locks } = navigator as { locks?: LockManager };
  if (locks === undefined || !("BroadcastChannel" in globalThis)) return undefined;
  return {
    election: electByLock(locks, name),
    openChannel(hear) {
      const channel = new BroadcastChannel(name);
      channel.addEventListener("message", ({ data }: MessageEvent<Message>) => hear(data));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has none: it reaches its own origin alone
      return { post: (message) => channel.postMessage(message), close: () => channel.close() };
    },
  };
}
