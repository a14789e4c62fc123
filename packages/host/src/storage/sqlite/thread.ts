import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { NothingChangedError, type Step, type StepResult } from "../steps.ts";
import type { ThreadOptions, ThreadReply, ThreadRequest } from "./thread-protocol.ts";

/** One connection to an SQLite file. */
export interface Connection {
  /** Runs steps in order. When one fails, the rest is not run. Rejects with the database's error. */
  run(steps: readonly Step[]): Promise<StepResult[]>;
}

/** A thread with a connection to an SQLite file. */
export interface Thread {
  /** The current connection. It ends with the thread: a transaction never continues in another one. */
  connect(): Connection;
  close(): Promise<void>;
}

/** A thread that can be told which host has its file. */
export interface OwnedThread extends Thread {
  own(hostId: number): Promise<void>;
}

/** An error of the database; `code` is SQLite's. */
class SqliteError extends Error {
  readonly code: string | undefined;

  constructor({ name, message, code }: Extract<ThreadReply, { error: unknown }>["error"]) {
    super(message);
    this.name = name;
    this.code = code;
  }
}

function errorOf(error: Extract<ThreadReply, { error: unknown }>["error"]): Error {
  return error.name === "NothingChangedError" ? new NothingChangedError(error.message) : new SqliteError(error);
}

interface Waiting {
  resolve(results: StepResult[]): void;
  reject(error: unknown): void;
}

/** Always the built file, because a thread cannot load TypeScript. */
const workerFile = createRequire(import.meta.url).resolve("#sqlite-worker");

interface Running extends Connection {
  own(hostId: number): Promise<void>;
  close(): Promise<void>;
}

/** What answers the requests of a connection: a thread, seen from outside. */
export interface ConnectionWorker {
  on(event: "message", listener: (reply: ThreadReply) => void): unknown;
  on(event: "error" | "exit", listener: (cause: unknown) => void): unknown;
  postMessage(request: ThreadRequest): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

export type StartWorker = (options: ThreadOptions) => ConnectionWorker;

// A thread does not accept every flag of the process.
const startWorker: StartWorker = (options) => new Worker(workerFile, { workerData: options, execArgv: [] });

/** When a thread dies, its pending requests fail as an outage, and the next `connect` starts another thread. */
export function startThread(options: ThreadOptions, start: StartWorker = startWorker): OwnedThread {
  let current: Running | undefined;
  let isClosed = false;
  const connect = (): Running => {
    if (isClosed) throw new Error("The database connection is not open.");
    return (current ??= connectTo(start(options), (ended) => {
      if (current === ended) current = undefined;
    }));
  };
  return {
    connect,
    own(hostId) {
      options.hostId = hostId;
      return connect().own(hostId);
    },
    async close() {
      isClosed = true;
      await current?.close();
    },
  };
}

function connectTo(worker: ConnectionWorker, onEnd: (ended: Running) => void): Running {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ended: Error | undefined;
  const end = (cause: unknown): void => {
    ended ??= new Error("The database connection is not open: its thread has ended.", { cause });
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
    onEnd(running);
  };
  const ask = (request: { steps: readonly Step[] } | { close: true } | { hostId: number }): Promise<StepResult[]> =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) throw ended;
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      worker.ref();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      worker.postMessage({ ...request, id: lastId } satisfies ThreadRequest);
    });
  worker.on("message", (reply: ThreadReply) => {
    const asked = waiting.get(reply.id);
    waiting.delete(reply.id);
    // An idle thread must not hold the process open.
    if (waiting.size === 0) worker.unref();
    if ("results" in reply) asked?.resolve(reply.results);
    else asked?.reject(errorOf(reply.error));
  });
  worker.on("error", end);
  worker.on("exit", end);
  const running: Running = {
    run: (steps) => ask({ steps }),
    own: async (hostId) => void (await ask({ hostId })),
    async close() {
      try {
        await ask({ close: true });
      } catch (error) {
        // A thread that ends by itself has closed its connection.
        if (error !== ended) throw error;
      }
      await worker.terminate();
    },
  };
  return running;
}
