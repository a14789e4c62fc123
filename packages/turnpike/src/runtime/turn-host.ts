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
import { errorObject, type TurnScope } from "../kernel/index.ts";
import { approvalEscalation, openQuestion } from "./approval.ts";
import { escalationToolName } from "./escalate.ts";
import type { RuntimeHost, TurnLimits } from "./plugin.ts";
import { followRun, type Asked } from "./run-activity.ts";
import { readEscalationInput } from "./settle.ts";
import type { TurnBook } from "./turn-book.ts";
import type { TurnEvents } from "./turn-events.ts";
import type { KeptCall, TurnReplay } from "./turn-replay.ts";

/** A turn is bounded in what it leaves behind, too. */
const maxRefusals = 1_000;
const maxEmitted = 20_000;

/** What the envelope of a turn is made of. */
export interface Envelope {
  scope: TurnScope;
  limits: TurnLimits;
  events: TurnEvents;
  /** Fires when the turn is over. */
  signal: AbortSignal;
  clock: () => string;
  /** Where everything is kept, and what was kept of earlier runs. */
  journal?: { book: TurnBook; replay: TurnReplay } | undefined;
  /** Whether a question is waited for. */
  waits: boolean;
  /** The plugin does nothing but by its host. */
  onlyThinks: boolean;
  /** Who is asked for a yes to a call. */
  owner: PrincipalRef;
  /** Fires when the run is to stop before its next call or step. */
  pauses?: AbortSignal | undefined;
  /** Ends the turn at once: the scope, or the book, says that it must. */
  onBreak(): void;
  /** The run is over: the turn waits from here on, for any of these. */
  onAsked(asked: readonly Asked[]): void;
}

/** The host of a plugin, and when all calls that it made have ended, or wait. */
export interface TurnHost {
  host: RuntimeHost;
  settled(): Promise<unknown> | undefined;
}

/** The host a plugin gets: every call passes the turn's own catalog and limits, then the kernel. */
export function createTurnHost(envelope: Envelope): TurnHost {
  const { scope, limits, events, signal, clock } = envelope;
  const { book, replay } = envelope.journal ?? {};
  const seen = new Map<string, number>();
  const steps = new Set<string>();
  const activity = followRun(envelope.onAsked);
  let calls = 0;
  let refusals = 0;
  let emitted = 0;
  /** Whether a step was given before it was durable. */
  let isAhead = false;

  /** Whether the plugin may be given what is not durable yet: all that it does is kept behind that, or does not happen. */
  const mayBeAhead = envelope.onlyThinks && book?.isOrdered === true;
  const keepUnlessAhead = async (): Promise<void> => {
    if (book !== undefined && !mayBeAhead) await orAbort(book.keep(), signal);
  };

  const count = (): void => {
    calls += 1;
    if (book !== undefined) book.toolCalls = calls;
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

  /** A turn that must end is over for its plugin, although its signal fires only a moment later. */
  const throwIfOver = (): void => {
    signal.throwIfAborted();
    if (scope.mustEnd !== undefined) throw new Error("The turn has ended.");
    if (activity.onlyWaits) throw new Error("The turn waits for a person: this run of it is over.");
    if (book?.failure !== undefined) throw book.failure.error;
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
    const kept = replay?.call(call, ask);
    if (kept?.counts === true) count();
    const refused = kept === undefined ? refusal(call, ask, step) : undefined;
    if ((refused !== undefined || kept?.counts === false) && (refusals += 1) > maxRefusals)
      throw new RangeError("This turn was refused too often.");
    if (kept?.result !== undefined) {
      // An answer comes from outside of the turn, which says so now.
      if (replay?.wasSaid("tool.completed", callId, ask) === false) sayCompleted(kept.result);
      return kept.result;
    }

    if (replay?.wasSaid("tool.requested", callId, ask) !== true) events.append("tool.requested", { callId, tool });
    const made = await orAbort<Made>(
      refused === undefined ? carryOut(call, step, kept) : refuse(call, refused),
      signal,
    );
    book?.join(made.claim);
    if ("waitsFor" in made) {
      // The call has no result yet: it gets one in a later run.
      if (made.waitsFor.approval !== undefined) book?.add({ kind: "asked", callId });
      if (book !== undefined) await orAbort(book.keep(), signal);
      activity.ask(made.waitsFor);
      onWaiting();
      return orAbort(new Promise<never>(() => {}), signal);
    }
    const { result } = made;
    book?.add({ kind: "result", callId, result, ...(ask > 1 && { ask }) });
    sayCompleted(result);
    await keepUnlessAhead();
    if (scope.mustEnd !== undefined) envelope.onBreak();
    return result;
  };

  /** The refusal is recorded with its result, behind what was recorded before. */
  const refuse = async (call: ToolCall, code: ErrorCode): Promise<Made> => {
    const claim = book?.claimFor();
    return { result: await scope.refuseTool(call, clock(), code, claim), claim };
  };

  /** Makes a call, of which it is kept before that it is made. One that was made before is made again only if that is safe. */
  const carryOut = async (call: ToolCall, step: number, kept: KeptCall | undefined): Promise<Made> => {
    if (book === undefined) return { result: await scope.invokeTool(call, clock(), signal) };
    if (kept?.repeatable === false) {
      const claim = book.claimFor();
      return { result: await scope.interruptTool(call, clock(), claim), claim };
    }
    const entry = { kind: "call", call, step, repeatable: isRepeatable(scope, call.tool) } as const;
    const input = envelope.waits && call.tool === escalationToolName ? readEscalationInput(call.arguments) : undefined;
    const isNew = kept === undefined || kept.isAsked === true;
    const claim = isNew && input === undefined ? book.claimFor(entry) : undefined;
    if (claim === undefined) {
      if (isNew) book.add(entry);
      await book.keep();
    }
    throwIfOver();
    if (input !== undefined) return askFor(call, input);
    let isMade = false;
    const result = await scope.invokeTool(call, clock(), signal, { claim, onEffect: () => (isMade = true) });
    // A tool that was called says what it likes: only the kernel says that somebody is asked first.
    const question = envelope.waits && !isMade ? openQuestion(result) : undefined;
    if (question === undefined) return { result, claim };
    const earlier = replay?.question(call.id);
    const escalation =
      earlier?.question?.id === question.id
        ? earlier.escalation
        : approvalEscalation(call.tool, clock(), envelope.owner);
    return { waitsFor: { callId: call.id, escalation, question, approval: { tool: call.tool } }, claim };
  };

  /** Asks a person, unless an earlier run did: a question that is open is not asked again. */
  const askFor = async (call: ToolCall, input: Parameters<TurnScope["escalate"]>[0]): Promise<Made> => {
    const { id: callId, tool } = call;
    const earlier = replay?.question(callId);
    if (earlier !== undefined) return { waitsFor: { callId, ...earlier } };
    const asked = await scope.escalate(input, clock(), signal);
    if (asked.kind === "refused") {
      const status = notAsked.has(asked.reason) ? "failed" : "denied";
      return { result: { status, callId, tool, completedAt: clock(), error: errorObject(asked.reason) } };
    }
    return { waitsFor: { callId, escalation: asked.escalation, question: asked.question } };
  };

  const beginStep = async (): Promise<void> => {
    throwIfOver();
    if (book !== undefined) book.steps += 1;
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
    if (book === undefined) return work();
    if (typeof name !== "string" || name === "") throw new TypeError("A step needs a name.");
    if (steps.has(name)) throw new TypeError(`This turn has made a step ${name} already.`);
    steps.add(name);
    const made = replay?.step(name);
    if (made !== undefined) return made.value as T;
    // A step does something outside, which may be because of those before it.
    if (isAhead) {
      await keepUnlessAhead();
      throwIfOver();
    }
    const value = await orAbort(Promise.resolve(work()), signal);
    const checked = check(JsonValueSchema, withoutUndefined(value));
    if (!checked.ok) throw new TypeError(`The step ${name} came to something that is no JSON: ${checked.message}`);
    book.add({ kind: "step", name, value: checked.value });
    if (isInside && book.isOrdered) isAhead = true;
    else await keepUnlessAhead();
    return value;
  };

  /** Follows an operation until it ends, or waits. */
  const follow = <T>(kind: "call" | "other", operate: (onWaiting: () => void) => Promise<T>): Promise<T> => {
    const end = activity.begin(kind);
    const made = operate(end);
    // A plugin that does not wait must not bring the process down when the turn ends first.
    made.then(end, end);
    return made;
  };

  const host: RuntimeHost = Object.freeze({
    limits,
    waits: envelope.waits,
    invokeTool(call: ToolCall, options?: { step?: number }): Promise<ToolResult> {
      const isAsking = envelope.waits && call?.tool === escalationToolName;
      return follow(isAsking ? "other" : "call", async (onWaiting) => {
        // Whoever is asked sees what the calls before it came to.
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

/** Why a question that was allowed is not asked. */
const notAsked: ReadonlySet<string> = new Set([
  "audit_unavailable",
  "escalation_unavailable",
  "too_many_escalations",
] satisfies ErrorCode[]);

/** What a call came to, or what it waits for. The rest of what it keeps waits under the claim. */
type Made = { claim?: unknown } & ({ result: ToolResult } | { waitsFor: Asked });

/** Whether a call of the tool may be made twice. */
function isRepeatable({ tools }: TurnScope, tool: string): boolean {
  const descriptor = tools.find(({ name }) => name === tool);
  return descriptor !== undefined && (descriptor.readWrite === "read" || descriptor.annotations?.idempotent === true);
}

/** Objects may name parts that they do not have, which no JSON does. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const named = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(named.map(([name, part]) => [name, withoutUndefined(part)]));
}
