import { MessageChannel } from "node:worker_threads";

/**
 * Calls each in a callback of its own, all of them in one poll of the event loop, as requests that arrive together are;
 * microtasks run between them.
 */
export function inDifferentCallbacks<T>(calls: readonly (() => Promise<T>)[]): Promise<T>[] {
  return calls.map(
    (call) =>
      new Promise((resolve, reject) => {
        const { port1, port2 } = new MessageChannel();
        port2.once("message", () => {
          call().then(resolve, reject);
          port2.close();
        });
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
        port1.postMessage("");
      }),
  );
}
