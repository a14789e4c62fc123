import {
  check,
  ErrorObjectSchema,
  JsonObjectSchema,
  JsonValueSchema,
  ToolCallSchema,
  type ErrorCode,
  type ErrorObject,
  type EscalationAsk,
  type JsonObject,
  type JsonValue,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import { errorObject } from "../kernel/index.ts";
import { escalationToolName } from "./escalate.ts";
import { readEscalationAsk } from "./settle.ts";
import {
  DriverFailure,
  type RuntimeHost,
  type RuntimeOutcome,
  type RuntimePlugin,
  type RuntimeTurn,
} from "./plugin.ts";

/** What a driver is told: that the turn begins, or what became of the calls it asked for, in their order. */
export type DriverInput = { type: "start" } | { type: "tool_results"; results: ToolResult[] };

/** What a driver wants next. */
export type DriverDecision =
  | { type: "tools"; calls: ToolCall[] }
  | { type: "complete"; output: JsonValue }
  | { type: "fail"; error: ErrorObject }
  | ({ type: "escalate" } & EscalationAsk);

/** One turn's conversation with whatever decides. */
export interface TurnSession {
  next(input: DriverInput, signal: AbortSignal): Promise<DriverDecision>;
  /** What the result says of this session, however the turn was decided to end; asked once, then. */
  metadata?(): JsonObject;
  /** Called once, on every way out. */
  close?(): Promise<void>;
}

/** Opens a session per turn, typically with a model. */
export interface TurnDriver {
  /** Names the driver in the results of its turns. */
  manifest?: { id: string; version: string };
  /** May emit events of its own through `host` while it works. */
  open(turn: RuntimeTurn, host: Pick<RuntimeHost, "emit">): Promise<TurnSession>;
}

/** The reference runtime: asks the driver, runs the tools it wants, feeds the results back, stops at `maxSteps`. */
export function standardRuntime(driver: TurnDriver): RuntimePlugin {
  return {
    manifest: driver.manifest ?? { id: "standard", version: "1" },
    async run(turn, host, signal) {
      const opening = (async () => driver.open(turn, host))();
      let session: TurnSession;
      try {
        session = await orAbort(opening, signal);
      } catch (error) {
        void opening.then(closeSession, () => {});
        throw new DriverFailure(error);
      }
      try {
        return withMetadata(await converse(session, turn, host, signal), session);
      } finally {
        // Not awaited: the turn has its outcome, and a session that is slow to close must not change it.
        void closeSession(session);
      }
    },
  };
}

async function converse(
  session: TurnSession,
  turn: RuntimeTurn,
  host: RuntimeHost,
  signal: AbortSignal,
): Promise<RuntimeOutcome> {
  let input: DriverInput = { type: "start" };
  for (let step = 0; step < turn.limits.maxSteps; step += 1) {
    let decision: DriverDecision;
    try {
      signal.throwIfAborted();
      decision = await orAbort(session.next(input, signal), signal);
    } catch (error) {
      throw new DriverFailure(error);
    }
    const read = readDecision(decision);
    if (read.type !== "tools") return read;
    // A model escalates by calling the tool; its other calls of that step run before the turn ends.
    const calls = read.calls.filter((call) => call.tool !== escalationToolName);
    const results = await Promise.all(calls.map((call) => host.invokeTool(call, { step })));
    const escalation = read.calls.find((call) => call.tool === escalationToolName);
    if (escalation !== undefined) return escalationOf(escalation.arguments);
    input = { type: "tool_results", results };
  }
  return fail("step_limit_exceeded");
}

/** What the driver's decision means to the turn: calls to run, or an outcome. */
function readDecision(decision: DriverDecision): { type: "tools"; calls: ToolCall[] } | RuntimeOutcome {
  switch (decision?.type) {
    case "tools": {
      const calls = Array.isArray(decision.calls) ? decision.calls : [];
      const isSound = calls.length > 0 && calls.every((call) => check(ToolCallSchema, call).ok);
      return isSound ? { type: "tools", calls } : fail("invalid_driver_decision");
    }
    case "complete":
      return check(JsonValueSchema, decision.output).ok
        ? { type: "complete", output: decision.output }
        : fail("invalid_driver_decision");
    case "fail":
      return check(ErrorObjectSchema, decision.error).ok
        ? { type: "fail", error: decision.error }
        : fail("invalid_driver_decision");
    case "escalate":
      return escalationOf(decision);
    default:
      return fail("invalid_driver_decision");
  }
}

function escalationOf(asked: { reason?: unknown; requestedAuthority?: unknown }): RuntimeOutcome {
  const ask = readEscalationAsk(asked);
  return ask === undefined ? fail("invalid_driver_decision") : { type: "escalate", ...ask };
}

function withMetadata(outcome: RuntimeOutcome, session: TurnSession): RuntimeOutcome {
  if (session.metadata === undefined) return outcome;
  try {
    const metadata = check(JsonObjectSchema, session.metadata());
    return metadata.ok ? { ...outcome, metadata: metadata.value } : fail("invalid_driver_decision");
  } catch (error) {
    throw new DriverFailure(error);
  }
}

function fail(code: ErrorCode): RuntimeOutcome {
  return { type: "fail", error: errorObject(code) };
}

/** Settles as the work does, or rejects when the turn is over. */
function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

async function closeSession(session: TurnSession): Promise<void> {
  try {
    await session.close?.();
  } catch {
    // The turn has its outcome; a session that cannot say goodbye does not change it.
  }
}
