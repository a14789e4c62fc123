import { useEffect, useState } from "preact/hooks";
import type { AdminOutput, AdminRouteName } from "turnpike-host/admin-contract";
import { type Input, messageOf, request } from "./api.ts";
import { session } from "./session.ts";

/** Something that is read from the host. What was read stays while it is read again. */
export interface Loaded<T> {
  value: T | undefined;
  /** Why it could not be read the last time. */
  problem: string | undefined;
  isLoading: boolean;
  reload(): void;
}

/**
 * Reads something, and again when one of `keys` changes or the operator signs in. An answer that comes too late is not shown, and
 * the host need not make it: the signal aborts when no one waits for it any more.
 */
export function useLoad<T>(
  read: (signal: AbortSignal) => Promise<T>,
  keys: readonly (string | number | undefined)[],
): Loaded<T> {
  const key = JSON.stringify(keys);
  const [state, setState] = useState<{ key?: string; value?: T; problem?: string; isLoading?: boolean }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isWanted = true;
    const asked = session.current.value;
    const waiting = new AbortController();
    setState((before) => ({ ...(before.key === key && before), key, isLoading: true }));
    read(waiting.signal).then(
      (value) => isWanted && setState({ key, value, isLoading: false }),
      (error: unknown) =>
        isWanted && setState((before) => ({ ...before, problem: messageOf(error), isLoading: false })),
    );
    return () => {
      isWanted = false;
      // The answer to a request of an ended session still has to be heard: it may say that the session has ended.
      if (session.current.value === asked) waiting.abort();
    };
  }, [key, round, session.current.value]);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: !isCurrent || state.isLoading !== false,
    reload: () => setRound((before) => before + 1),
  };
}

/** Reads what a route answers, and again when what it is asked with changes. */
export function useRead<Name extends AdminRouteName>(name: Name, input: Input<Name>): Loaded<AdminOutput<Name>> {
  return useLoad((signal) => request(name, input, signal), [name, JSON.stringify(input)]);
}
