import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { ServiceClientError } from "turnpike/client";
import type { TurnEvent, TurnState } from "turnpike/contracts";
import { refusal } from "./caller-results.ts";
import { asCaller, openCaller, type Caller, type CallerFlags } from "./connection.ts";
import { jsonText } from "./table.ts";
import { answeredBy, cutShort, eventLine, resultText, waitingText } from "./timeline.ts";

const pollMs = 300;
/** The tool that asks a person. Its name is written here because commands start without the runtime that has it. */
const escalationToolName = "service.escalate";

/** `turn follow`. */
export function addTurnFollow(turn: Command): void {
  asCaller(
    turn.command("follow"),
    "Show what a turn of yours does, from its start until it ends. With --json: a line for each event, and one for its end.",
    "turnpike turn follow turn-0abc",
  )
    .argument("<id>", "the turn's id")
    .action(async (id: string, flags: CallerFlags) => {
      const { client } = openCaller(flags);
      const isJson = flags.json === true;
      const say = (line: string): void => void process.stdout.write(`${line}\n`);
      // Asked before anything else, so that a host that is away is reported, and not waited for.
      const { startedAt } = await client.turn(id);
      await eachEvent(client, id, {
        onEvent: (event) => say(isJson ? jsonText(event, 0) : eventLine(event, startedAt)),
        onWaiting: ({ escalation }) => isJson || escalation === undefined || say(indented(waitingText(escalation))),
      });
      const state = await client.turn(id);
      if (isJson) say(jsonText(state, 0));
      endAs(state, isJson ? () => {} : say);
    });
}

/** Under the times of the timeline, with the mark of an escalation. */
function indented(text: string): string {
  const [first = "", ...more] = [...text.split("\n"), answeredBy()];
  return [`${" ".repeat(8)}  ?  ${first}`, ...more.map((line) => `${" ".repeat(13)}${line}`)].join("\n");
}

type Followed = Pick<Caller["client"], "turn" | "turnEvents">;

interface Watcher {
  onEvent(event: TurnEvent): void;
  /** Called once for each escalation, when the turn waits for its answer. */
  onWaiting(state: TurnState): void;
}

/** Shows every event of a turn; and, because waiting is a state and no event, that the turn waits. */
export async function eachEvent(client: Followed, id: string, watcher: Watcher): Promise<void> {
  const events = client.turnEvents(id)[Symbol.asyncIterator]();
  let isAsking = false;
  for (;;) {
    const next = events.next();
    if (isAsking) await untilWaiting(client, id, next, watcher);
    const { done, value } = await next;
    if (done === true) return;
    watcher.onEvent(value);
    isAsking = value.type === "tool.requested" && toolOf(value) === escalationToolName;
  }
}

async function untilWaiting(client: Followed, id: string, next: Promise<unknown>, watcher: Watcher): Promise<void> {
  const came = next.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([came, delay(pollMs, false)]))) {
    const state = await client.turn(id).catch(ignoreOutage);
    if (state?.status !== "waiting") continue;
    watcher.onWaiting(state);
    return;
  }
}

/** Waits until a host that is away can be reached again. */
function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof ServiceClientError)) throw error;
}

function toolOf({ data }: TurnEvent): unknown {
  return typeof data === "object" && data !== null && "tool" in data ? data["tool"] : undefined;
}

/** Prints the result, or throws why there is none, as a turn does that was run and not started. */
function endAs({ result, traceId }: TurnState, say: (line: string) => void): void {
  if (result === undefined) throw new Error("The turn has ended; its result is not stored any more.");
  if (result.status !== "succeeded" && result.status !== "escalated")
    throw refusal(result.status, result.error ?? cutShort, traceId);
  say(resultText(result));
}
