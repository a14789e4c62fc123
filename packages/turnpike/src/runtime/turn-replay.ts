import type { JsonValue, ToolCall, ToolResult, TurnEvent } from "../contracts/index.ts";
import { canonicalJson } from "../internal/index.ts";
import type { EarlierRun } from "../kernel/index.ts";
import type { JournalEntry } from "./journal.ts";
import type { Asked } from "./run-activity.ts";

/** A call of an earlier run. */
export interface RecordedCall {
  /** Whether it may be made again. */
  repeatable: boolean;
  /** Whether it counts as one of the turn's calls. A call that the turn's limits refused does not. */
  counts: boolean;
  /** Whether it was not made, because a person was asked first. It is then made as if for the first time. */
  isAsked?: boolean;
  result?: ToolResult;
}

/** The results of the earlier runs of a turn, which its plugin asks for again. */
export interface TurnReplay {
  readonly events: readonly TurnEvent[];
  /** What the kernel has to know of the earlier runs; undefined when the turn was not admitted yet. */
  readonly earlier: EarlierRun | undefined;
  /** Whether it knows every entry. One that a newer version stored may be of a kind that this one does not know. */
  readonly isKnown: boolean;
  /** The result of a named step; undefined when the step was not made. */
  step(name: string): { value: JsonValue } | undefined;
  /** The `ask`-th call with this id; undefined when there was none. Throws when another call was made with this id. */
  call(call: ToolCall, ask: number): RecordedCall | undefined;
  /** The open escalation that this call waits for; undefined when there is none. */
  escalation(callId: string): Omit<Asked, "callId"> | undefined;
  /** Whether an event of this type was appended for the `ask`-th call with this id. */
  wasSaid(type: "tool.requested" | "tool.completed", callId: string, ask: number): boolean;
  /** Whether the plugin emits an event again that an earlier run emitted at the same place. */
  wasEmitted(data: JsonValue): boolean;
}

/** Reads the stored entries of a turn. */
export function readReplay(entries: readonly JournalEntry[]): TurnReplay {
  const events: TurnEvent[] = [];
  const steps = new Map<string, { value: JsonValue; place: number }>();
  const calls = new Map<string, MadeCall>();
  const escalations = new Map<string, Omit<Asked, "callId">>();
  /** Calls that may have had an effect. */
  const effects = new Set<string>();
  /** How many events of each type the turn has for each call. */
  const said = new Map<string, number>();
  const count = (what: string, times: number): void => void said.set(what, (said.get(what) ?? 0) + times);
  let emitted: { text: string; place: number }[] = [];
  let lastWait = -1;
  let isAdmitted = false;
  let admission: EarlierRun["admission"];
  let isAnswered = false;
  let isKnown = true;

  entries.forEach((entry, place) => {
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
          recorded: { repeatable: entry.repeatable, counts: true },
        });
        break;
      case "asked": {
        const made = calls.get(entry.callId);
        effects.delete(entry.callId);
        const unmade: RecordedCall = { repeatable: true, counts: true, isAsked: true };
        calls.set(entry.callId, { ...made, recorded: unmade });
        break;
      }
      case "waiting": {
        const { kind: _kind, callId, question: reference, ...asked } = entry;
        escalations.set(callId, { ...asked, ...(reference && { reference }) });
        lastWait = place;
        break;
      }
      case "answered":
        isAnswered = true;
        escalations.delete(entry.callId);
        giveResult(entry.callId, entry.result);
        break;
      case "result":
        giveResult(nameOf(entry.callId, entry.ask), entry.result);
        // The events of a call that was refused for its id are stored with its result, and do not belong to the first call.
        if ((entry.ask ?? 1) > 1) count(`tool.completed ${entry.callId}`, -1);
        break;
      case "ended":
        break;
      default:
        // Whatever it says, an effect may have come of it.
        isKnown = false;
        effects.add(`entry ${place}`);
    }
  });

  function giveResult(name: string, result: ToolResult): void {
    const made = calls.get(name);
    const before = made?.recorded ?? { repeatable: true, counts: false };
    calls.set(name, { ...made, recorded: { ...before, result } });
  }

  /**
   * Drops the events before a place, because a step that was made does not emit again. A step that was cut off is made anew, and
   * its events are new. A run that began to wait cut nothing off: the next run emits its events again outside of steps, in any order.
   */
  const moveTo = (place: number | undefined): void => {
    emitted = emitted.filter((one) => (place === undefined ? one.place < lastWait : one.place > place));
  };
  return {
    events,
    isKnown,
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
      return made?.recorded;
    },
    escalation: (callId) => escalations.get(callId),
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
  recorded: RecordedCall;
}

/** No id has a line break. */
function nameOf(callId: string, ask = 1): string {
  return ask === 1 ? callId : `${ask}\n${callId}`;
}

function isSame(one: ToolCall, other: ToolCall): boolean {
  return one.tool === other.tool && canonicalJson(one.arguments) === canonicalJson(other.arguments);
}
