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

/** What a driver is told: that the turn begins, or what became of the calls it asked for, in their order. */
export type DriverInput = { type: "start" } | { type: "tool_results"; results: ToolResult[] };

/** What a driver wants next. */
export type DriverDecision =
  | { type: "tools"; calls: ToolCall[] }
  | { type: "complete"; output: JsonValue }
  | { type: "fail"; error: ErrorObject }
  | ({ type: "escalate" } & EscalationInput);

/** One turn's conversation with whatever decides. */
export interface TurnSession {
  next(input: DriverInput, signal: AbortSignal): Promise<DriverDecision>;
  /** What it has to remember of the decision that it made last, if it is to go on elsewhere; asked once after each. */
  memory?(): JsonValue;
  /** In place of `next`, for a decision that was made before the turn was interrupted: nobody is asked again. */
  recall?(input: DriverInput, memory: JsonValue | undefined): void;
  /** What the result says of this session, however the turn was decided to end; asked once, then. */
  metadata?(): JsonObject;
  /** Called once, on every way out. */
  close?(): Promise<void>;
}

/** Opens a session per turn, typically with a model. */
export interface TurnDriver {
  /** Names the driver in the results of its turns. */
  manifest?: { id: string; version: string };
  /**
   * Whether it goes on with turns that a driver of this id and that version began: its sessions need nothing but what
   * `recall` tells them. Absent: its turns end with their process.
   */
  resumes?(version: string): boolean;
  /** It decides by what it is told, and asks nobody: its turns wait for fewer commits. */
  onlyThinks?: boolean;
  /** May emit events of its own through `host` while it works. */
  open(turn: RuntimeTurn, host: Pick<RuntimeHost, "emit">): Promise<TurnSession>;
}

/** The reference runtime: asks the driver, runs the tools it wants, feeds the results back, stops at `maxSteps`. */
export function standardRuntime(driver: TurnDriver): RuntimePlugin {
  return {
    manifest: driver.manifest ?? { id: "standard", version: "1" },
    resumes: (version) => driver.resumes?.(version) === true,
    onlyThinks: driver.onlyThinks === true,
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
    // A model escalates by calling the tool; its other calls of that step run before the turn ends, or waits.
    const results = new Map<ToolCall, ToolResult>();
    const make = async (call: ToolCall): Promise<unknown> => results.set(call, await host.invokeTool(call, { step }));
    const others = wanted.filter((call) => !isAsking(call)).map(make);
    const asking = wanted.filter(isAsking);
    if (!host.waits) await Promise.all(others);
    if (asking[0] !== undefined && !host.waits) return escalationOf(asking[0].arguments);
    // Where a question is waited for, the host asks it once the others have ended, or wait for a person as well.
    await Promise.all([...others, makeInOrder(asking, make)]);
    input = { type: "tool_results", results: wanted.flatMap((call) => results.get(call) ?? []) };
  }
  return fail("step_limit_exceeded");
}

async function makeInOrder(calls: readonly ToolCall[], make: (call: ToolCall) => Promise<unknown>): Promise<void> {
  for (const call of calls) await make(call);
}

/** What is kept of a decision, as text: as a value, one that is as deep or as large as JSON may be would be too much. */
type KeptDecision = { decided: Decided; memory?: JsonValue | undefined };

/** Asks the driver for its decision, unless it made it before the turn was interrupted. */
async function decideOnce(
  session: TurnSession,
  input: DriverInput,
  step: number,
  host: RuntimeHost,
  signal: AbortSignal,
): Promise<Decided> {
  let made: KeptDecision | undefined;
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
  if (made !== undefined) return (made as KeptDecision).decided;
  const { decided, memory } = JSON.parse(text) as KeptDecision;
  session.recall?.(input, memory);
  return decided;
}

/** A decision to ask, as the call that it is where an answer is waited for. */
function askingCall(
  { executionId, message }: RuntimeTurn,
  step: number,
  { reason, requestedAuthority }: RuntimeOutcome & { type: "escalate" },
): ToolCall {
  const { createdAt: requestedAt, traceId } = message;
  // What it names and does not have is no JSON.
  const wanted = JSON.parse(JSON.stringify({ reason, requestedAuthority })) as JsonObject;
  // Within the length of an id, however long the turn's own is.
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

/** What the driver's decision means to the turn: calls to run, or an outcome. One that cannot be read is none. */
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
    // The turn has its outcome; a session that cannot say goodbye does not change it.
  }
}
