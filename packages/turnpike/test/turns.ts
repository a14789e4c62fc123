/** A small deployment for turn tests: the agent of `tool-world.ts`, tools that record the calls that reached them, and an executor. */
import { getEventListeners } from "node:events";
import type {
  AccessContext,
  Capability,
  Grant,
  JsonValue,
  ToolCall,
  ToolResult,
  TurnEvent,
  TurnRequest,
  TurnResult,
} from "../src/contracts/index.ts";
import type { GrantSource, KernelOptions, ToolHandler } from "../src/kernel/index.ts";
import {
  createTurnExecutor,
  escalationTool,
  TurnPause,
  type RuntimeHost,
  type RuntimeOutcome,
  type RuntimePlugin,
  type RuntimeTurn,
  type TurnExecutionOptions,
  type TurnExecutorOptions,
  type TurnJournal,
  type RunWriter,
  type TurnToExecute,
} from "../src/runtime/index.ts";
import {
  agent,
  alice,
  callOf,
  capability,
  contextOf,
  descriptorOf,
  envelopeOf,
  grantOf,
  now,
  runAgent,
  worldOf,
  type World,
} from "./deployment.ts";

/** What it takes to end a turn with an escalation to the owner. */
export const mayEscalate: Capability = capability("service", ["escalation"], "request", { scope: "exact" });

/** One grant each to run the agent, to use its tools and to escalate, so that each can be taken away alone. */
export const runGrant: Grant = grantOf("run", { capabilities: [runAgent] });
export const toolGrant: Grant = grantOf("tools", { capabilities: [capability("files", ["notes"], "*")] });
export const escalationGrant: Grant = grantOf("escalate", { capabilities: [mayEscalate] });

/** A tool that records the calls that reached it, and what their signals said at that instant. */
export interface TurnTool extends ToolHandler {
  readonly calls: readonly ToolCall[];
  /** Calls that were carried out although their turn was over. */
  readonly late: readonly ToolCall[];
}

/** What a tool does with a call: returns its output, or throws. */
export type ToolWork = (call: ToolCall, signal: AbortSignal) => Promise<JsonValue>;

/** A tool of namespace `files` over all notes; it answers with its call's id unless it is given other work. */
export function toolOf(
  name: string,
  changes: {
    readWrite?: "read" | "write";
    idempotent?: boolean;
    work?: ToolWork;
    result?: (call: ToolCall) => ToolResult;
  } = {},
): TurnTool {
  const { readWrite = "read", idempotent = false, work, result } = changes;
  const calls: ToolCall[] = [];
  const late: ToolCall[] = [];
  return {
    descriptor: descriptorOf({
      name,
      readWrite,
      requiredCapability: { action: readWrite, resource: { namespace: "files", path: ["notes"] } },
      ...(idempotent && { annotations: { idempotent } }),
    }),
    parse: (args) => args,
    calls,
    late,
    async invoke(context, call, signal) {
      calls.push(call);
      if (signal.aborted) late.push(call);
      const output = work === undefined ? call.id : await work(call, signal);
      if (result !== undefined) return result(call);
      return { status: "succeeded", callId: call.id, tool: call.tool, completedAt: context.now, output };
    },
  };
}

/** The tools that a turn of these tests usually has. */
export function toolsOf(): { read: TurnTool; write: TurnTool; put: TurnTool } {
  return {
    read: toolOf("files.read"),
    write: toolOf("files.write", { readWrite: "write" }),
    put: toolOf("files.put", { readWrite: "write", idempotent: true }),
  };
}

/** A message of alice's to the agent, as a turn. */
export function requestOf(changes: Partial<TurnRequest> = {}): TurnRequest {
  const message = envelopeOf({ sender: alice, receiver: agent });
  return { version: 1, executionId: "turn-1", agent, message, ...changes };
}

/** A plugin that only has a `run`. */
export function pluginOf(run: RuntimePlugin["run"]): RuntimePlugin {
  return { manifest: { id: "test", version: "7" }, run };
}

/** A call of `files.read`, or of another tool, with an id. */
export function calling(id: string, tool = "files.read"): ToolCall {
  return callOf({ id, tool });
}

/** An outcome that completes with this output. */
export function completed(output: JsonValue = "done"): RuntimeOutcome {
  return { type: "complete", output };
}

/** A plugin that calls these tools one after the other and completes with what became of each. */
export function callsInTurn(...calls: readonly ToolCall[]): RuntimePlugin["run"] {
  return async (_turn, host) => {
    const said: string[] = [];
    for (const call of calls) said.push(saidOf(await host.invokeTool(call)));
    return completed(said);
  };
}

/** The status of a result, or its code. */
export function saidOf(result: ToolResult | TurnResult): string {
  return "error" in result && result.error !== undefined ? result.error.code : result.status;
}

/** The types of the events, in order. */
export function typesOf({ events }: Pick<TurnResult, "events">): string[] {
  return events.map(({ type }) => type);
}

/** What a turn test has at hand. */
export interface TurnWorld extends World {
  /** The clock of the turns: what it says can be set. */
  time: { now: string };
  turnErrors: { error: unknown; executionId: string }[];
  /** Runs a turn; parts of the request and of the context can be replaced. */
  run(
    turn?: Partial<TurnRequest> & { context?: Partial<AccessContext>; tools?: TurnToExecute["tools"] },
    options?: TurnExecutionOptions,
  ): Promise<TurnResult>;
}

/** How a world differs from the usual one. */
export interface TurnWorldOptions extends Partial<Omit<KernelOptions, "grants">> {
  grants?: readonly Grant[];
  source?: GrantSource;
  executor?: Partial<TurnExecutorOptions>;
}

/** One for all worlds: it holds no state, and describing its input takes longer than many a turn. */
export const escalateTool: ToolHandler = escalationTool();

/** Every port in memory, all grants and tools there, `service.escalate` offered. */
export function turnWorldOf(run: RuntimePlugin | RuntimePlugin["run"], options: TurnWorldOptions = {}): TurnWorld {
  const { executor, ...ports } = options;
  const world = worldOf({
    grants: [runGrant, toolGrant, escalationGrant],
    tools: [...Object.values(toolsOf()), escalateTool],
    ...ports,
  });
  const time = { now };
  const turnErrors: TurnWorld["turnErrors"] = [];
  let ids = 0;
  const turns = createTurnExecutor({
    kernel: world.kernel,
    runtime: typeof run === "function" ? pluginOf(run) : run,
    clock: () => time.now,
    createId: () => `event-${(ids += 1)}`,
    onTurnError: (error, executionId) => turnErrors.push({ error, executionId }),
    ...executor,
  });
  return {
    ...world,
    time,
    turnErrors,
    run({ context, tools, ...changes } = {}, execution = {}) {
      const trusted = contextOf({ enabledToolNamespaces: ["files", "service"], ...context });
      return turns.execute({ ...requestOf(changes), context: trusted, ...(tools && { tools }) }, execution);
    },
  };
}

/** For `vi.waitFor`: time enough on a busy machine. */
export const patience = { timeout: 60_000, interval: 10 };

/** A promise that never settles. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** Lets so many rounds of settled promises go by. */
export async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await undefined;
}

/** Settles when the turn is over. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** How many listeners still wait for the signal. */
export function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

/** What a plugin was given, recorded for the test. */
export interface Given {
  turn: RuntimeTurn;
  host: RuntimeHost;
  signal: AbortSignal;
}

/** A plugin that records what it is given and completes, and the record. */
export function recordingRun(): { run: RuntimePlugin["run"]; given: Given[] } {
  const given: Given[] = [];
  return {
    given,
    run(turn, host, signal) {
      given.push({ turn, host, signal });
      return Promise.resolve(completed());
    },
  };
}

/** One event's data by type, all of them in order. */
export function dataOf({ events }: { events: readonly TurnEvent[] }, type: TurnEvent["type"]): JsonValue[] {
  return events.filter((event) => event.type === type).map(({ data }) => data);
}

/** A journal whose turns begin with a writer that differs in parts. */
export function withWriter(journal: TurnJournal, change: (writer: RunWriter) => Partial<RunWriter>): TurnJournal {
  return {
    ...journal,
    async begin(turn, call) {
      const begun = await journal.begin(turn, call);
      return begun.kind === "begun" ? { kind: "begun", writer: { ...begun.writer, ...change(begun.writer) } } : begun;
    },
  };
}

/** A journal whose n-th write and everything behind it fails, as if the process had ended there. */
export function endingAt(journal: TurnJournal, nth: number): TurnJournal {
  let writes = 0;
  return withWriter(journal, (writer) => ({
    write: (...args) =>
      (writes += 1) < nth ? writer.write(...args) : Promise.reject(new TurnPause("The process has ended.")),
  }));
}
