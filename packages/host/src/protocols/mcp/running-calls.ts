/** Where a call comes from: whose credential, and which of its clients. */
export interface CallOrigin {
  tenant: string;
  credentialId: string;
  /** The id that the client was given when it began. Clients that do not send it are one client. */
  session: string | null;
}

/** The id of a request, which its client chose. */
export type RequestId = string | number;

/**
 * The calls that run on this host, so that a client can cancel one of its own with another request. An entry lasts as long as
 * its call, so there are never more entries than requests.
 */
export interface RunningCalls {
  /** Registers a call. Returns the function that removes it. */
  begin(origin: CallOrigin, id: RequestId, cancel: () => void): () => void;
  /** Cancels the call of this origin with this id. Nothing happens when there is none, or when several share the id. */
  cancel(origin: CallOrigin, id: RequestId): void;
}

export function createRunningCalls(): RunningCalls {
  const running = new Map<string, Set<() => void>>();
  return {
    begin(origin, id, cancel) {
      const key = keyOf(origin, id);
      const calls = running.get(key) ?? new Set();
      running.set(key, calls.add(cancel));
      return () => {
        calls.delete(cancel);
        if (calls.size === 0) running.delete(key);
      };
    },
    cancel(origin, id) {
      const [call, ...others] = running.get(keyOf(origin, id)) ?? [];
      if (others.length === 0) call?.();
    },
  };
}

function keyOf({ tenant, credentialId, session }: CallOrigin, id: RequestId): string {
  return JSON.stringify([tenant, credentialId, session, id]);
}
