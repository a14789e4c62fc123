import {
  ErrorObjectSchema,
  JsonObjectSchema,
  JsonValueSchema,
  ToolCallSchema,
  type ErrorCode,
  type ErrorObject,
  type EscalationInput,
  type JsonObject,
  type JsonValue,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import { accept, check, orAbort } from "../internal/index.ts";
import { errorObject } from "../kernel/index.ts";
import { escalationToolName } from "./escalate.ts";
import { readEscalationInput } from "./settle.ts";
import { DriverError, type RuntimeHost, type RuntimeOutcome, type RuntimePlugin, type RuntimeTurn } from "./plugin.ts";

/** The input of a driver: the start of the turn, or the results of the calls that it asked for, in their order. */
export type DriverInput = { type: "start" } | { type: "tool_results"; results: ToolResult[] };

/** The next action that a driver chooses. */
export type DriverDecision =
  | { type: "tools"; calls: ToolCall[] }
  | { type: "complete"; output: JsonValue }
  | { type: "fail"; error: ErrorObject }
  | ({ type: "escalate" } & EscalationInput);

/** One turn's conversation with its driver, typically with a model. */
export interface TurnSession {
  next(input: DriverInput, signal: AbortSignal): Promise<DriverDecision>;
  /** What another process needs to know of the last decision to resume the session. Called once after each decision. */
  memory?(): JsonValue;
  /** Called in place of `next` for a decision that was made before the turn was interrupted, so that the model is not asked again. */
  recall?(input: DriverInput, memory: JsonValue | undefined): void;
  /** Metadata about this session for the turn's result. Called once, after the outcome is decided. */
  metadata?(): JsonObject;
  /** Called once, however the session ends. */
  close?(): Promise<void>;
}

/** Opens a session per turn, typically with a model. */
export interface TurnDriver {
  /** Names the driver in the results of its turns. */
  manifest?: { id: string; version: string };
  /**
   * Whether this driver can resume turns that a driver of this id and the given version began. Its sessions then get nothing but
   * the calls of `recall`. Without it, its turns end with their process.
   */
  resumes?(version: string): boolean;
  /** Whether it decides only by its input. Its turns then wait for fewer commits. */
  isPure?: boolean;
  /** May emit events of its own through `host` while it works. */
  open(turn: RuntimeTurn, host: Pick<RuntimeHost, "emit">): Promise<TurnSession>;
}

/**
 * The reference runtime: it asks the driver, runs the tools that the driver chooses, gives it the results, and stops at `maxSteps`.
 *
 * @example
 * import { standardRuntime } from "turnpike/runtime";
 * import { scriptedDriver } from "turnpike/testing";
 *
 * console.log(standardRuntime(scriptedDriver([])).manifest); // { id: 'scripted', version: '1' }
 */
export function standardRuntime(driver: TurnDriver): RuntimePlugin {
  return {
    manifest: driver.manifest ?? { id: "standard", version: "1" },
    resumes: (version) => driver.resumes?.(version) === true,
    isPure: driver.isPure === true,
    async run(turn, host, signal) {
      const opening = (async () => driver.open(turn, host))();
      let session: TurnSession;
      try {
        session = await orAbort(opening, signal);
      } catch (error) {
        void opening.then(closeSession, () => {});
        throw new DriverError(error);
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
    if (step > 0) await host.beginStep();
    const decided = await decideOnce(session, input, step, host, signal);
    if (decided.type !== "tools" && !(decided.type === "escalate" && host.waits)) return decided;
    const wanted = decided.type === "tools" ? decided.calls : [askingCall(turn, step, decided)];
    // A model escalates by calling the tool. Its other calls of that step run before the turn ends or waits.
    const results = new Map<ToolCall, ToolResult>();
    const make = async (call: ToolCall): Promise<unknown> => results.set(call, await host.invokeTool(call, { step }));
    const others = wanted.filter((call) => !isAsking(call)).map(make);
    const asking = wanted.filter(isAsking);
    if (!host.waits) await Promise.all(others);
    if (asking[0] !== undefined && !host.waits) return escalationOf(asking[0].arguments);
    // Where the turn waits for answers, the host escalates once the other calls have ended, or wait for a person as well.
    await Promise.all([...others, makeInOrder(asking, make)]);
    input = { type: "tool_results", results: wanted.flatMap((call) => results.get(call) ?? []) };
  }
  return fail("step_limit_exceeded");
}

async function makeInOrder(calls: readonly ToolCall[], make: (call: ToolCall) => Promise<unknown>): Promise<void> {
  for (const call of calls) await make(call);
}

/** A stored decision. It is stored as text, because a value around it could exceed the limits of depth and size of JSON. */
type StoredDecision = { decided: Decided; memory?: JsonValue | undefined };

/** Asks the driver for its decision, unless the driver made it before the turn was interrupted. */
async function decideOnce(
  session: TurnSession,
  input: DriverInput,
  step: number,
  host: RuntimeHost,
  signal: AbortSignal,
): Promise<Decided> {
  let made: StoredDecision | undefined;
  const decide = async (): Promise<string> => {
    let decision: DriverDecision;
    try {
      signal.throwIfAborted();
      decision = await orAbort(session.next(input, signal), signal);
    } catch (error) {
      throw new DriverError(error);
    }
    made = { decided: readDecision(decision), memory: session.memory?.() };
    return JSON.stringify(made);
  };
  const text = await host.step(`decision-${step}`, decide, { isInside: true });
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- the step sets it
  if (made !== undefined) return (made as StoredDecision).decided;
  const { decided, memory } = JSON.parse(text) as StoredDecision;
  session.recall?.(input, memory);
  return decided;
}

/** A decision to escalate as a call of the tool, which a turn that can wait makes of it. */
function askingCall(
  { executionId, message }: RuntimeTurn,
  step: number,
  { reason, requestedAuthority }: RuntimeOutcome & { type: "escalate" },
): ToolCall {
  const { createdAt: requestedAt, traceId } = message;
  // Leaves out keys whose value is undefined, which JSON cannot have.
  const wanted = JSON.parse(JSON.stringify({ reason, requestedAuthority })) as JsonObject;
  // The id must not exceed the length of an id, however long the turn's own id is.
  return {
    id: `${executionId.slice(0, 240)}-ask-${step}`,
    tool: escalationToolName,
    arguments: wanted,
    requestedAt,
    traceId,
  };
}

function isAsking({ tool }: ToolCall): boolean {
  return tool === escalationToolName;
}

type Decided = { type: "tools"; calls: ToolCall[] } | RuntimeOutcome;

/** Reads the driver's decision: calls to run, or an outcome. One that cannot be read fails the turn. */
function readDecision(decision: DriverDecision): Decided {
  try {
    return decidedBy(decision) ?? fail("invalid_driver_decision");
  } catch {
    return fail("invalid_driver_decision");
  }
}

function decidedBy(decision: DriverDecision): Decided | undefined {
  switch (decision?.type) {
    case "tools": {
      const { calls } = decision;
      const accepted = Array.isArray(calls) ? calls.map((call) => accept(ToolCallSchema, call)) : [];
      const sound = accepted.flatMap((one) => (one.ok ? [one.value] : []));
      return sound.length > 0 && sound.length === accepted.length ? { type: "tools", calls: sound } : undefined;
    }
    case "complete": {
      const output = check(JsonValueSchema, decision.output);
      return output.ok ? { type: "complete", output: output.value } : undefined;
    }
    case "fail": {
      const error = accept(ErrorObjectSchema, decision.error);
      return error.ok ? { type: "fail", error: error.value } : undefined;
    }
    case "escalate":
      return escalationOf(decision);
    default:
      return undefined;
  }
}

function escalationOf(said: { reason?: unknown; requestedAuthority?: unknown }): RuntimeOutcome {
  const input = readEscalationInput(said);
  return input === undefined ? fail("invalid_driver_decision") : { type: "escalate", ...input };
}

function withMetadata(outcome: RuntimeOutcome, session: TurnSession): RuntimeOutcome {
  if (session.metadata === undefined) return outcome;
  try {
    const metadata = check(JsonObjectSchema, session.metadata());
    return metadata.ok ? { ...outcome, metadata: metadata.value } : fail("invalid_driver_decision");
  } catch (error) {
    throw new DriverError(error);
  }
}

function fail(code: ErrorCode): RuntimeOutcome {
  return { type: "fail", error: errorObject(code) };
}

async function closeSession(session: TurnSession): Promise<void> {
  try {
    await session.close?.();
  } catch {
    // The turn has its outcome, which a session that fails to close does not change.
  }
}
