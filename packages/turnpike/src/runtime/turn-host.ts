import {
  JsonObjectSchema,
  type JsonObject,
  JsonValueSchema,
  ToolCallSchema,
  type ErrorCode,
  type JsonValue,
  type PrincipalRef,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import { accept, check, orAbort } from "../internal/index.ts";
import { errorObject, type TurnScope, type WriteScope } from "../kernel/index.ts";
import { approvalEscalation, openEscalation } from "./approval.ts";
import { escalationToolName } from "./escalate.ts";
import type { RuntimeHost, TurnLimits } from "./plugin.ts";
import { followRun, type Asked } from "./run-activity.ts";
import { readEscalationInput } from "./settle.ts";
import type { RunBuffer } from "./run-buffer.ts";
import type { TurnEvents } from "./turn-events.ts";
import type { RecordedCall, TurnReplay } from "./turn-replay.ts";

/** Limits on what one turn stores. */
const maxRefusals = 1_000;
const maxEmitted = 20_000;

/** What the host of a turn's plugin is made of. */
export interface Envelope {
  scope: TurnScope;
  limits: TurnLimits;
  events: TurnEvents;
  /** Fires when the turn is over. */
  signal: AbortSignal;
  clock: () => string;
  /** Where everything is written, and what earlier runs wrote. */
  journal?: { buffer: RunBuffer; replay: TurnReplay } | undefined;
  /** Whether the turn waits for the answer to an escalation. */
  waits: boolean;
  /** Whether the plugin acts only through its host. */
  isPure: boolean;
  /** Who is asked to approve a call. */
  owner: PrincipalRef;
  /** Fires when the run is to stop before its next call or step. */
  pauses?: AbortSignal | undefined;
  /** Called when the scope or the buffer says that the turn must end at once. */
  onBreak(): void;
  /** Called when the run is over because the turn waits for any of these escalations. */
  onAsked(asked: readonly Asked[]): void;
}

/** The host of a plugin. */
export interface TurnHost {
  host: RuntimeHost;
  /** Resolves when all calls that are being made have ended or wait for a person. */
  settled(): Promise<unknown> | undefined;
}

/** Makes the host of a plugin. It checks every call against the turn's catalog and limits, and the kernel decides about it. */
export function createTurnHost(envelope: Envelope): TurnHost {
  const { scope, limits, events, signal, clock } = envelope;
  const { buffer, replay } = envelope.journal ?? {};
  const seen = new Map<string, number>();
  const steps = new Set<string>();
  const activity = followRun(envelope.onAsked);
  let calls = 0;
  let refusals = 0;
  let emitted = 0;
  /** Whether a step was given before it was durable. */
  let isWriteBehind = false;

  /** Whether the plugin may get results before they are durable. What it does next is then stored after them, or does not happen. */
  const allowWriteBehind = envelope.isPure && buffer?.isOrdered === true;
  const flushUnlessAhead = async (): Promise<void> => {
    if (buffer !== undefined && !allowWriteBehind) await orAbort(buffer.flush(), signal);
  };

  const count = (): void => {
    calls += 1;
    if (buffer !== undefined) buffer.toolCalls = calls;
  };

  /** Why the envelope refuses a call before the kernel is asked; undefined when it does not. */
  const refusal = (call: ToolCall, ask: number, step: number): ErrorCode | undefined => {
    if (ask > 1) return "duplicate_call_id";
    if (!scope.offers(call.tool)) return "tool_unavailable";
    if (!(step < limits.maxSteps)) return "step_limit_exceeded";
    if (calls === limits.maxToolCalls) return "tool_call_limit_exceeded";
    count();
    return undefined;
  };

  /** Throws when the turn or this run must end, also while the signal has not fired yet. */
  const throwIfOver = (): void => {
    signal.throwIfAborted();
    if (scope.mustEnd !== undefined) throw new Error("The turn has ended.");
    if (activity.onlyWaits) throw new Error("The turn waits for a person: this run of it is over.");
    if (buffer?.failure !== undefined) throw buffer.failure.error;
    if (envelope.pauses?.aborted === true) {
      envelope.onBreak();
      throw envelope.pauses.reason;
    }
  };

  const sayCompleted = (result: ToolResult): void => {
    const { callId, tool, status } = result;
    const data: JsonObject = { callId, tool, status };
    if (result.status !== "succeeded") data["code"] = result.error.code;
    events.append("tool.completed", data);
  };

  const invoke = async (asked: ToolCall, step: number, onWaiting: () => void): Promise<ToolResult> => {
    const accepted = accept(ToolCallSchema, asked);
    if (!accepted.ok) throw new TypeError(`This is no tool call: ${accepted.message}`);
    throwIfOver();
    const call = accepted.value;
    const { id: callId, tool } = call;
    const ask = (seen.get(callId) ?? 0) + 1;
    seen.set(callId, ask);
    const earlier = replay?.call(call, ask);
    if (earlier?.counts === true) count();
    const refused = earlier === undefined ? refusal(call, ask, step) : undefined;
    if ((refused !== undefined || earlier?.counts === false) && (refusals += 1) > maxRefusals)
      throw new RangeError("This turn was refused too often.");
    if (earlier?.result !== undefined) {
      // The answer of a person was stored between two runs, so no run has told of this call's end yet.
      if (replay?.wasSaid("tool.completed", callId, ask) === false) sayCompleted(earlier.result);
      return earlier.result;
    }

    if (replay?.wasSaid("tool.requested", callId, ask) !== true) events.append("tool.requested", { callId, tool });
    const made = await orAbort<Made>(
      refused === undefined ? carryOut(call, step, earlier) : refuse(call, refused),
      signal,
    );
    buffer?.closeScope(made.writes);
    if ("waitsFor" in made) {
      // The call has no result yet: it gets one in a later run.
      if (made.waitsFor.approval !== undefined) buffer?.add({ kind: "asked", callId });
      if (buffer !== undefined) await orAbort(buffer.flush(), signal);
      activity.ask(made.waitsFor);
      onWaiting();
      return orAbort(new Promise<never>(() => {}), signal);
    }
    const { result } = made;
    buffer?.add({ kind: "result", callId, result, ...(ask > 1 && { ask }) });
    sayCompleted(result);
    await flushUnlessAhead();
    if (scope.mustEnd !== undefined) envelope.onBreak();
    return result;
  };

  /** Records the refusal together with its result, after everything that was recorded before. */
  const refuse = async (call: ToolCall, code: ErrorCode): Promise<Made> => {
    const writes = buffer?.openScope();
    return { result: await scope.refuseTool(call, clock(), code, writes), writes };
  };

  /** Journals a call, then makes it. One that was made before is made again only if that is safe. */
  const carryOut = async (call: ToolCall, step: number, recorded: RecordedCall | undefined): Promise<Made> => {
    if (buffer === undefined) return { result: await scope.invokeTool(call, clock(), signal) };
    if (recorded?.repeatable === false) {
      const writes = buffer.openScope();
      return { result: await scope.interruptTool(call, clock(), writes), writes };
    }
    const entry = { kind: "call", call, step, repeatable: isRepeatable(scope, call.tool) } as const;
    const input = envelope.waits && call.tool === escalationToolName ? readEscalationInput(call.arguments) : undefined;
    const isNew = recorded === undefined || recorded.isAsked === true;
    const writes = isNew && input === undefined ? buffer.openScope(entry) : undefined;
    if (writes === undefined) {
      if (isNew) buffer.add(entry);
      await buffer.flush();
    }
    throwIfOver();
    if (input !== undefined) return askFor(call, input);
    let isMade = false;
    const result = await scope.invokeTool(call, clock(), signal, { writes, onEffect: () => (isMade = true) });
    // Only a result of the kernel can name an escalation. A tool that was called could forge one.
    const reference = envelope.waits && !isMade ? openEscalation(result) : undefined;
    if (reference === undefined) return { result, writes };
    const earlier = replay?.escalation(call.id);
    const escalation =
      earlier?.reference?.id === reference.id
        ? earlier.escalation
        : approvalEscalation(call.tool, clock(), envelope.owner);
    return { waitsFor: { callId: call.id, escalation, reference, approval: { tool: call.tool } }, writes };
  };

  /** Asks a person, unless an escalation of an earlier run is open. */
  const askFor = async (call: ToolCall, input: Parameters<TurnScope["escalate"]>[0]): Promise<Made> => {
    const { id: callId, tool } = call;
    const earlier = replay?.escalation(callId);
    if (earlier !== undefined) return { waitsFor: { callId, ...earlier } };
    const asked = await scope.escalate(input, clock(), signal);
    if (asked.kind === "refused") {
      const status = notAsked.has(asked.reason) ? "failed" : "denied";
      return { result: { status, callId, tool, completedAt: clock(), error: errorObject(asked.reason) } };
    }
    return { waitsFor: { callId, escalation: asked.escalation, reference: asked.reference } };
  };

  const beginStep = async (): Promise<void> => {
    throwIfOver();
    if (buffer !== undefined) buffer.steps += 1;
    await orAbort(scope.checkAccess(clock(), signal), signal);
    if (scope.mustEnd !== undefined) envelope.onBreak();
    throwIfOver();
  };

  const makeStep = async <T extends JsonValue>(
    name: string,
    work: () => T | Promise<T>,
    isInside: boolean,
  ): Promise<T> => {
    throwIfOver();
    if (buffer === undefined) return work();
    if (typeof name !== "string" || name === "") throw new TypeError("A step needs a name.");
    if (steps.has(name)) throw new TypeError(`This turn has made a step ${name} already.`);
    steps.add(name);
    const made = replay?.step(name);
    if (made !== undefined) return made.value as T;
    // This step may act outside of the host because of the results of earlier steps, so those become durable first.
    if (isWriteBehind) {
      await flushUnlessAhead();
      throwIfOver();
    }
    const value = await orAbort(Promise.resolve(work()), signal);
    const checked = check(JsonValueSchema, withoutUndefined(value));
    if (!checked.ok) throw new TypeError(`The step ${name} came to something that is no JSON: ${checked.message}`);
    buffer.add({ kind: "step", name, value: checked.value });
    if (isInside && buffer.isOrdered) isWriteBehind = true;
    else await flushUnlessAhead();
    return value;
  };

  /** Counts an operation as being made until it ends or waits for a person. */
  const follow = <T>(kind: "call" | "other", operate: (onWaiting: () => void) => Promise<T>): Promise<T> => {
    const end = activity.begin(kind);
    const made = operate(end);
    // If the plugin does not await the operation, its rejection must not end the process.
    made.then(end, end);
    return made;
  };

  const host: RuntimeHost = Object.freeze({
    limits,
    waits: envelope.waits,
    invokeTool(call: ToolCall, options?: { step?: number }): Promise<ToolResult> {
      const isAsking = envelope.waits && call?.tool === escalationToolName;
      return follow(isAsking ? "other" : "call", async (onWaiting) => {
        // Calls that are being made end first, so that the person who is asked sees their results.
        const others = isAsking ? activity.callsSettled() : undefined;
        if (others !== undefined) await others;
        return invoke(call, options?.step ?? 0, onWaiting);
      });
    },
    beginStep: () => follow("other", beginStep),
    step: <T extends JsonValue>(name: string, work: () => T | Promise<T>, options?: { isInside?: boolean }) =>
      follow("other", () => makeStep(name, work, options?.isInside === true)),
    emit(event: { type: string; data: unknown }): void {
      const { type, data } = event;
      if (signal.aborted || activity.onlyWaits) return;
      if (typeof type !== "string") throw new TypeError("An event needs a type.");
      const checked = check(JsonObjectSchema, { type, data });
      if (!checked.ok) throw new TypeError(`This is no event: ${checked.message}`);
      if ((emitted += 1) > maxEmitted) throw new RangeError(`A turn emits at most ${maxEmitted} events.`);
      if (replay?.wasEmitted(checked.value) !== true) events.append("runtime.event", checked.value);
    },
  });
  return { host, settled: activity.callsSettled };
}

/** Why an escalation that was allowed is not opened. */
const notAsked: ReadonlySet<string> = new Set([
  "audit_unavailable",
  "escalation_unavailable",
  "too_many_escalations",
] satisfies ErrorCode[]);

/** The result of a call, or the escalation that it waits for. `writes` holds what the call has not written yet. */
type Made = { writes?: WriteScope | undefined } & ({ result: ToolResult } | { waitsFor: Asked });

/** Whether a call of the tool may be made twice. */
function isRepeatable({ tools }: TurnScope, tool: string): boolean {
  const descriptor = tools.find(({ name }) => name === tool);
  return descriptor !== undefined && (descriptor.readWrite === "read" || descriptor.annotations?.idempotent === true);
}

/** Leaves out keys whose value is undefined, which JSON cannot have. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const named = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(named.map(([name, part]) => [name, withoutUndefined(part)]));
}
