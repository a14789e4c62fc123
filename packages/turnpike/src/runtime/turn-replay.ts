import type { JsonValue, ToolCall, ToolResult, TurnEvent } from "../contracts/index.ts";
import { canonicalJson } from "../internal/index.ts";
import type { EarlierRun } from "../kernel/index.ts";
import type { JournalEntry } from "./journal.ts";
import type { Asked } from "./run-activity.ts";

/** A call of an earlier run. */
export interface KeptCall {
  /** Whether it may be made again. */
  repeatable: boolean;
  /** Whether it counts as one of the turn's calls: its own limits refused it otherwise. */
  counts: boolean;
  /** It was not made, because a person was asked first: it is made as if for the first time. */
  isAsked?: boolean;
  result?: ToolResult;
}

/** What the earlier runs of a turn came to, as its plugin asks for it again. */
export interface TurnReplay {
  readonly events: readonly TurnEvent[];
  /** What the kernel has to know of them; undefined when the turn was not admitted yet. */
  readonly earlier: EarlierRun | undefined;
  /** What a named step came to; undefined when it was not made. */
  step(name: string): { value: JsonValue } | undefined;
  /** The call under this id, asked for the n-th time; undefined when it was not. Throws when another one was made under it. */
  call(call: ToolCall, ask: number): KeptCall | undefined;
  /** What an earlier run waited for with this call; undefined when it did not, or has its answer. */
  question(callId: string): Omit<Asked, "callId"> | undefined;
  /** Whether the turn said already that the call is asked for, or how it ended, for the n-th time. */
  wasSaid(type: "tool.requested" | "tool.completed", callId: string, ask: number): boolean;
  /** Whether the plugin emits an event again that an earlier run emitted at the same place. */
  wasEmitted(data: JsonValue): boolean;
}

/** Reads what is kept of a turn. */
export function readReplay(kept: readonly JournalEntry[]): TurnReplay {
  const events: TurnEvent[] = [];
  const steps = new Map<string, { value: JsonValue; place: number }>();
  const calls = new Map<string, MadeCall>();
  const questions = new Map<string, Omit<Asked, "callId">>();
  /** Calls that may have had an effect. */
  const effects = new Set<string>();
  /** How often the turn said something of a call. */
  const said = new Map<string, number>();
  const count = (what: string, times: number): void => void said.set(what, (said.get(what) ?? 0) + times);
  let emitted: { text: string; place: number }[] = [];
  let lastWait = -1;
  let isAdmitted = false;
  let admission: EarlierRun["admission"];
  let isAnswered = false;

  kept.forEach((entry, place) => {
    switch (entry.kind) {
      case "event":
        events.push(entry.event);
        if (entry.event.type === "tool.requested" || entry.event.type === "tool.completed") {
          count(`${entry.event.type} ${(entry.event.data as { callId: string }).callId}`, 1);
        }
        if (entry.event.type === "runtime.event") emitted.push({ text: canonicalJson(entry.event.data), place });
        break;
      case "admitting":
        isAdmitted = true;
        admission = undefined;
        break;
      case "admitted":
        isAdmitted = true;
        isAnswered = false;
        ({ admission } = entry);
        break;
      case "step":
        steps.set(entry.name, { value: entry.value, place });
        break;
      case "call":
        if (!entry.repeatable) effects.add(entry.call.id);
        calls.set(entry.call.id, {
          call: entry.call,
          kept: { repeatable: entry.repeatable, counts: true },
        });
        break;
      case "asked": {
        const made = calls.get(entry.callId);
        effects.delete(entry.callId);
        const unmade: KeptCall = { repeatable: true, counts: true, isAsked: true };
        calls.set(entry.callId, { ...made, kept: unmade });
        break;
      }
      case "waiting": {
        const { kind: _kind, callId, ...asked } = entry;
        questions.set(callId, asked);
        lastWait = place;
        break;
      }
      case "answered":
        isAnswered = true;
        questions.delete(entry.callId);
        giveResult(entry.callId, entry.result);
        break;
      case "result":
        giveResult(nameOf(entry.callId, entry.ask), entry.result);
        // What is said of one that was refused for its id is kept with its result, and is not said of the first.
        if ((entry.ask ?? 1) > 1) count(`tool.completed ${entry.callId}`, -1);
        break;
    }
  });

  function giveResult(name: string, result: ToolResult): void {
    const made = calls.get(name);
    const before = made?.kept ?? { repeatable: true, counts: false };
    calls.set(name, { ...made, kept: { ...before, result } });
  }

  /**
   * A step that was made emits nothing again. One that was cut off is done anew, and what it emits is new; but a run that came
   * to wait cut nothing off, and what it emitted is emitted again outside of steps, in whichever order its branches come.
   */
  const moveTo = (place: number | undefined): void => {
    emitted = emitted.filter((one) => (place === undefined ? one.place < lastWait : one.place > place));
  };
  return {
    events,
    earlier: isAdmitted ? { admission, isAnswered, mayHaveTakenEffect: effects.size > 0 } : undefined,
    step(name) {
      const made = steps.get(name);
      moveTo(made?.place);
      return made;
    },
    call(call, ask) {
      const made = calls.get(nameOf(call.id, ask));
      if (made?.call !== undefined && !isSame(made.call, call))
        throw new Error(`Another call was made as ${call.id} before the turn was interrupted.`);
      return made?.kept;
    },
    question: (callId) => questions.get(callId),
    wasSaid: (type, callId, ask) =>
      (type === "tool.completed" && ask > 1) || (said.get(`${type} ${callId}`) ?? 0) >= ask,
    wasEmitted(data) {
      if (emitted.length === 0) return false;
      const text = canonicalJson(data);
      const found = emitted.findIndex((one) => one.text === text);
      if (found !== -1) emitted.splice(found, 1);
      return found !== -1;
    },
  };
}

interface MadeCall {
  call?: ToolCall;
  kept: KeptCall;
}

/** No id has a line break. */
function nameOf(callId: string, ask = 1): string {
  return ask === 1 ? callId : `${ask}\n${callId}`;
}

function isSame(one: ToolCall, other: ToolCall): boolean {
  return one.tool === other.tool && canonicalJson(one.arguments) === canonicalJson(other.arguments);
}
