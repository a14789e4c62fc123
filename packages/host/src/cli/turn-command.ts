import type { Command } from "commander";
import { describeIssues, JsonValueSchema, type TurnResult } from "turnpike/contracts";
import { ConfigError, nearestName, programName } from "../shared/index.ts";
import { grantText } from "../display/index.ts";
import { freshId, refusal } from "./caller-results.ts";
import { asCaller, openCaller, sameHostAsCaller, type Caller, type CallerFlags, type Show } from "./connection.ts";
import { readJsonFlag, readPrincipal } from "./flags.ts";
import { hintLine } from "./format.ts";
import { withProgress } from "./progress.ts";
import { jsonText, oneLine } from "./table.ts";
import { cutShort } from "./timeline.ts";
import { addTurnFollow } from "./turn-follow.ts";
import { addTurnCancel, addTurnQueries } from "./turn-queries.ts";

interface TurnFlags extends CallerFlags {
  agent: string;
  from: string;
  purpose: string;
  message: string;
  follow?: boolean;
}

/** `turn`: one bounded turn of an agent; and `turn start | show | list | follow | cancel`, for turns that go on alone. */
export function addTurnCommand(program: Command, show: Show): void {
  const turn = asCaller(
    program.command("turn"),
    "Run one turn of an agent and print how it ended.",
    `turnpike turn --agent assistant --from human:alice --purpose demo --message '{"read":"notes/todo.md"}'`,
    purposeMeans,
  )
    // Flags behind `start` and its like are theirs.
    .enablePositionalOptions()
    // What is no command is reported in other words than an argument too many.
    .allowExcessArguments();
  // Flags that are required here would be required of the commands below, too.
  for (const [flag, description] of messageFlags) turn.option(flag, description);
  turn.option("--follow", "print each event as it happens").action(async (flags: TurnFlags) => {
    requireMessage(turn, flags);
    const { client, traceId } = openCaller(flags);
    const request = turnRequest("turn", flags, traceId);
    const result =
      flags.follow === true
        ? await follow(client, request)
        : await withProgress("The turn runs", () => client.executeTurn(request), flags);
    show(flags, result, turnText(result));
    if (result.status === "succeeded" || result.status === "escalated") return;
    throw refusal(result.status, result.error ?? cutShort, traceId);
  });
  addTurnStart(turn, show);
  addTurnQueries(turn, show);
  addTurnFollow(turn);
  addTurnCancel(turn, show);
}

// A turn's message names its purpose, so there is no default.
const purposeMeans = "what this is done for, one of the credential's purposes";

const messageFlags = [
  ["--agent <id>", "the agent, who has to be the credential's actor"],
  ["--from <kind:id>", "who the message is from"],
  ["--message <json>", "what the agent is told"],
] as const;

/** Says what is missing as commands whose flags are declared as required do. */
function requireMessage(turn: Command, flags: Partial<TurnFlags>): void {
  const [unknown] = turn.args;
  if (unknown !== undefined) {
    const known = turn.commands.map((command) => command.name());
    const meant = nearestName(unknown, known);
    const advice = meant === undefined ? `; turn knows ${known.join(", ")}` : `\n(Did you mean ${meant}?)`;
    turn.error(`error: unknown command '${oneLine(unknown)}'${advice}`);
  }
  const names = ["agent", "from", "message"] as const;
  for (const [place, [flag]] of messageFlags.entries()) {
    const isGiven = flags[names[place] ?? "agent"] !== undefined;
    if (!isGiven)
      turn.error(`error: required option '${flag}' not specified`, { code: "commander.missingMandatoryOptionValue" });
  }
}

/** `turn start`. */
function addTurnStart(turn: Command, show: Show): void {
  const start = asCaller(
    turn.command("start"),
    "Start a turn that goes on without you, and after the end of the host's process.",
    `turnpike turn start --agent assistant --from human:alice --purpose demo --message '{"read":"notes/todo.md"}'`,
    purposeMeans,
  );
  for (const [flag, description] of messageFlags) start.requiredOption(flag, description);
  start
    .option("--id <id>", "the id of the turn; a fresh one unless given")
    .action(async (flags: TurnFlags & { id?: string }) => {
      const { client, traceId } = openCaller(flags);
      const state = await client.startTurn(turnRequest("turn start", flags, traceId, flags.id));
      const { executionId } = state;
      const next = hintLine(["turn", "follow", executionId, ...sameHostAsCaller(flags)]);
      show(flags, state, `Started ${oneLine(executionId)}.\nFollow it: ${next}`);
    });
}

type Client = Caller["client"];
type TurnRequest = Parameters<Client["executeTurn"]>[0];

function turnRequest(command: string, flags: TurnFlags, traceId: string, executionId = freshId("turn")): TurnRequest {
  const { agent: agentId, from, message, purpose } = flags;
  if (purpose === undefined) throw new ConfigError(`${command}: expected --purpose, one of the credential's.`);
  const payload = JsonValueSchema.safeParse(readJsonFlag("--message", message));
  if (!payload.success) throw new ConfigError(`--message: ${describeIssues(payload.error.issues)}`);
  const agent = { kind: "agent" as const, agentId };
  const envelope = {
    version: 1 as const,
    id: freshId("message"),
    createdAt: new Date().toISOString(),
    traceId,
    purpose,
    sender: readPrincipal("--from", from),
    receiver: agent,
    payload: payload.data,
  };
  return { version: 1, executionId, agent, message: envelope };
}

async function follow(client: Client, request: TurnRequest): Promise<TurnResult> {
  const stream = client.streamTurn(request);
  for await (const { type, data } of stream) process.stderr.write(`${type} ${jsonText(data, 0)}\n`);
  return stream.result();
}

function turnText(result: TurnResult): string {
  if (result.status === "succeeded") return jsonText(result.output);
  if (result.status !== "escalated") return `The turn was ${result.status}.`;
  const { reason, requestedAuthority } = result.escalation;
  const requested = requestedAuthority === undefined ? "" : `\nIt requests: ${oneLine(grantText(requestedAuthority))}`;
  return `The turn ended with an escalation: ${oneLine(reason)}${requested}\nAn operator answers it: ${programName()} escalation list --tenant <tenant>`;
}
