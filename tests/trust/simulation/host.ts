import type { ToolHandler } from "turnpike/kernel";
import type { RuntimePlugin } from "turnpike/runtime";
import { wireHost, type WiredHost } from "../../../packages/host/src/compose/wire-host.ts";
import { loadMcpPool } from "../../../packages/host/src/mcp-servers/load-servers.ts";
import { openSimulated, type SharedParts, type WriteLock } from "./database.ts";
import type { Premises } from "./premises.ts";
import { noProcess, type Owner, type Scheduler } from "./scheduler.ts";

/** One answer of a host. */
export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the wire says
  body: any;
}

/** A request as it goes over the wire. */
export interface WireCall {
  method: "GET" | "POST" | "PUT";
  path: string;
  token: string;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  signal?: AbortSignal;
}

/** The connection ended before an answer came. */
export class GoneError extends Error {
  override readonly name = "GoneError";
}

/** A host that can be gone at any time. */
export class SimulatedHost {
  readonly id: number;
  readonly #wired: WiredHost;
  readonly #cut: () => void;
  readonly #inFlight = new Set<(error: GoneError) => void>();
  isGone = false;

  readonly #process: { scheduler: Scheduler; owner: Owner };

  private constructor(id: number, wired: WiredHost, cut: () => void, process: { scheduler: Scheduler; owner: Owner }) {
    [this.id, this.#wired, this.#cut, this.#process] = [id, wired, cut, process];
  }

  /** Opens a host; undefined when it crashed or failed on the way. */
  static async open(
    { config, metrics }: Premises,
    parts: SharedParts & { lock: WriteLock; log(facts: object, message: string): void },
    // Both learn by the second argument whether their host is gone: nothing happens in a process that has ended.
    effects: { tools(isGone: () => boolean): ToolHandler[]; runtime(isGone: () => boolean): RuntimePlugin },
    { skewMs, epoch, onCrash }: { skewMs: number; epoch: number; onCrash(): void },
  ): Promise<SimulatedHost | undefined> {
    let host: SimulatedHost | undefined;
    let isGone = false;
    let onGone = (): void => {};
    const crashed = new Promise<undefined>((resolve) => (onGone = () => resolve(undefined)));
    const { scheduler } = parts;
    const owner: Owner = {};
    const opening = scheduler.runAs("start", owner, async () => {
      const { database, cut } = await openSimulated(parts, { owner, epoch }, () => {
        isGone = true;
        host?.crash();
        onCrash();
        onGone();
      });
      const log = { info() {}, warn() {}, error: parts.log };
      const openPool = await loadMcpPool(undefined, log);
      const options = {
        log,
        runtime: effects.runtime(() => isGone),
        tools: effects.tools(() => isGone),
        // To describe tools takes most of a start; what those of files do is done here as operations on resources.
        makeOwnTools: () => [],
        clock: () => new Date(Date.now() + skewMs),
      };
      const made = { database, metrics, tracing: undefined, openPool, webhooks: [], consoleUrl: () => "" };
      try {
        const wired = await wireHost(config, options, made);
        wired.engine.start();
        const end = (): void => {
          isGone = true;
          cut();
        };
        host = new SimulatedHost(database.hostId, wired, end, { scheduler, owner });
        return host;
      } catch {
        isGone = true;
        cut();
        return undefined;
      }
    });
    const opened = await Promise.race([opening.catch(() => undefined), crashed]);
    await scheduler.pause("started", noProcess);
    return opened;
  }

  get stores(): WiredHost["stores"] {
    return this.#wired.stores;
  }

  /** The process is gone, with everything that was under way in it. */
  crash(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#cut();
    for (const reject of this.#inFlight) reject(new GoneError("The host is gone."));
    this.#inFlight.clear();
  }

  /** Sends a request; rejects when the host is gone before it has answered. */
  async send(call: WireCall): Promise<Answer> {
    if (this.isGone) throw new GoneError("No host listens.");
    let lose: (error: GoneError) => void = () => {};
    const lost = new Promise<never>((_resolve, reject) => (lose = reject));
    this.#inFlight.add(lose);
    const { scheduler, owner } = this.#process;
    try {
      return await Promise.race([scheduler.runAs("request", owner, () => this.#answer(call)), lost]);
    } finally {
      this.#inFlight.delete(lose);
      // What follows is the client's.
      await scheduler.pause("answer", noProcess);
    }
  }

  async #answer({ method, path, token, headers = {}, body, signal = never }: WireCall): Promise<Answer> {
    const sent = new Map(Object.entries({ authorization: `Bearer ${token}`, ...headers }));
    const text = body === undefined ? "" : JSON.stringify(body);
    const answer = await this.#wired.front({
      method,
      target: path,
      headers: { get: (name: string) => sent.get(name) ?? null },
      address: "",
      signal,
      body: { bytes: () => Promise.resolve(new TextEncoder().encode(text)) },
      admit() {},
      toFetch() {
        throw new Error("Nothing that is simulated asks for this.");
      },
    });
    const isReply = !(answer instanceof Response);
    const received = isReply ? String(answer.body ?? "") : await answer.text();
    return {
      status: answer.status,
      headers: isReply ? answer.headers : Object.fromEntries(answer.headers),
      text: received,
      body: received === "" ? undefined : (JSON.parse(received) as unknown),
    };
  }
}

const never = new AbortController().signal;
