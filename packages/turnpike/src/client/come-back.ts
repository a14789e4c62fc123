const firstPauseMs = 250;
const longestPauseMs = 15_000;

/** Whether the service may answer later: it was not reached, it broke off, it is asked too often, or the fault is its own. */
export function mayComeBack(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, status } = error as { code?: unknown; status?: unknown };
  return code === "request_failed" || status === 429 || (typeof status === "number" && status >= 500);
}

/** The pause after so many failures. Half of it is left to chance, so that many who lost one host do not come back at once. */
export function pauseAfter(failures: number): number {
  return Math.min(firstPauseMs * 2 ** failures, longestPauseMs) * (0.5 + Math.random() / 2);
}

/** Rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
