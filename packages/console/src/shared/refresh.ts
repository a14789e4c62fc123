import { useEffect, useRef } from "preact/hooks";
import type { LiveEvent } from "turnpike-host/admin-contract";
import { listen, live } from "./events/live.ts";

/** The shortest time between two readings, however much happens. */
const everyMs = 1000;

/** Reads again when something happens that matters, and when a stream is opened, because something may have been missed. */
export function useRefresh(reload: () => void, matters: (event: LiveEvent) => boolean): void {
  const latest = useRef({ reload, matters });
  latest.current = { reload, matters };
  const opened = live.opened.value;
  const known = useRef(opened);
  useEffect(() => {
    if (opened !== known.current) latest.current.reload();
    known.current = opened;
  }, [opened]);
  useEffect(() => {
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = (): void => {
      timer = undefined;
      last = Date.now();
      latest.current.reload();
    };
    const stop = listen((event) => {
      if (timer === undefined && latest.current.matters(event))
        timer = setTimeout(run, Math.max(0, last + everyMs - Date.now()));
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
}

/** Whether an escalation was asked or answered. Operators who are told of no audit log see the count change. */
export function isAboutEscalations(event: LiveEvent): boolean {
  if (event.kind === "waiting") return true;
  return event.kind === "trail" && /^(escalation\.|operator\.)/.test(event.event.type);
}

/** Whether an operator changed a grant. */
export const isAboutGrants = isAboutChange("grant.");

/** Whether an operator changed a credential. */
export const isAboutCredentials = isAboutChange("credential.");

/** Whether a person signed in, was revoked or was restored. */
export const isAboutPeople = isAboutChange("person.");

function isAboutChange(action: string) {
  return (event: LiveEvent): boolean => event.kind === "trail" && event.event.action?.startsWith(action) === true;
}
