import { parentPort, workerData } from "node:worker_threads";
import { FileConnection } from "./file-connection.ts";
import type { ThreadOptions, ThreadRequest } from "./thread-protocol.ts";

// The thread that has a connection to the database: only this thread waits for the disk.

const connection = new FileConnection(workerData as ThreadOptions);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on("message", (request: ThreadRequest) => parentPort?.postMessage(connection.answer(request)));
