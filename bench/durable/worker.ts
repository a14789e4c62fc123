import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { killWithThisProcess } from "../support/host-process.ts";

/** What a process says by itself: something hangs where it was told to, begins to wait, or continues after its answer. */
type News = "hangs" | "waits" | "goesOn";

/** A process of one side, which does what it is told. */
export interface Worker {
  order<T>(name: string, input?: object): Promise<T>;
  /** Resolves when the process has said this of an id, now or before. */
  heard(news: News, id: string): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

interface Message extends Partial<Record<News, string>> {
  readonly isReady?: true;
  readonly number?: number;
  readonly answer?: unknown;
  readonly failure?: string;
}

/** The driver of DBOS calls its database in a way that is deprecated, and would say so each time. */
const execArgv = ["--expose-gc", "--no-deprecation"];

/** Starts a script of this folder, where it is in the sources, and waits until it takes orders. */
export async function startWorker(script: string, input: object, folder: string): Promise<Worker> {
  mkdirSync(folder, { recursive: true });
  const file = resolve("bench/durable", script);
  const { PATH = "" } = process.env;
  const child = fork(file, [JSON.stringify(input)], { cwd: folder, env: { PATH }, execArgv });
  killWithThisProcess(child);
  const asked = new Map<number, PromiseWithResolvers>();
  const said = new Map<string, PromiseWithResolvers>();
  const saying = (news: News, id: string): PromiseWithResolvers => entryOf(said, `${news} ${id}`);
  const ready = withResolvers();
  child.on("message", ({ isReady, number, answer, failure, ...news }: Message) => {
    if (isReady) ready.resolve(undefined);
    for (const [name, id] of Object.entries(news)) saying(name as News, id).resolve(undefined);
    const waiting = asked.get(number ?? 0);
    if (failure === undefined) waiting?.resolve(answer);
    else waiting?.reject(new Error(failure));
    asked.delete(number ?? 0);
  });
  const ended = once(child, "exit");
  child.once("exit", (code, signal) => {
    const error = new Error(`${script} ended with ${code ?? signal}`);
    for (const waiting of [ready, ...asked.values(), ...said.values()]) waiting.reject(error);
  });
  await ready.promise;
  let orders = 0;
  const order = <T>(name: string, details: object = {}): Promise<T> => {
    orders += 1;
    child.send({ number: orders, order: name, ...details });
    return entryOf(asked, orders).promise as Promise<T>;
  };
  return {
    order,
    heard: async (news, id) => void (await saying(news, id).promise),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
    async stop() {
      await order("close");
      await ended;
    },
  };
}

interface PromiseWithResolvers {
  readonly promise: Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** As `Promise.withResolvers`, which Node 20 has not; a rejection that no one waits for is no error. */
function withResolvers(): PromiseWithResolvers {
  const parts: Partial<PromiseWithResolvers> = {};
  const promise = new Promise((resolvePromise, reject) => Object.assign(parts, { resolve: resolvePromise, reject }));
  promise.catch(() => {});
  return { ...(parts as PromiseWithResolvers), promise };
}

function entryOf<Key>(map: Map<Key, PromiseWithResolvers>, key: Key): PromiseWithResolvers {
  const entry = map.get(key) ?? withResolvers();
  map.set(key, entry);
  return entry;
}
