/**
 * Aborts after a time, as `AbortSignal.timeout` does, and may be one of several in `AbortSignal.any`. Node 20 collects the other one as
 * garbage there, and its time never ends.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException("The time is over.", "TimeoutError")), ms).unref();
  return controller.signal;
}
