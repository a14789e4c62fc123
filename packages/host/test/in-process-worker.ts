import { EventEmitter } from "node:events";
import { FileConnection } from "../src/storage/sqlite/file-connection.ts";
import type { ThreadOptions, ThreadRequest } from "../src/storage/sqlite/thread-protocol.ts";
import type { ConnectionWorker } from "../src/storage/sqlite/thread.ts";

// Tests may replace it.
const later = setImmediate;

/** Answers the requests of a connection without a thread: in turns of the event loop, with copies as a thread sends them. */
export function answerHere(options: ThreadOptions): ConnectionWorker {
  const events = new EventEmitter();
  const emitLater = (event: string, find: () => unknown): void => void later(() => events.emit(event, find()));
  let connection: FileConnection | undefined;
  try {
    connection = new FileConnection(options);
  } catch (error) {
    emitLater("error", () => error);
  }
  return {
    on: (event: string, listener: (value: never) => void) => events.on(event, (value) => listener(value as never)),
    postMessage(request: ThreadRequest) {
      const asked = structuredClone(request);
      emitLater("message", () => structuredClone(connection?.answer(asked)));
    },
    ref() {},
    unref() {},
    terminate: () => Promise.resolve(),
  };
}
