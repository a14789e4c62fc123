import type { Command } from "commander";
import { describeIssues, JsonValueSchema, type TurnResult } from "turnpike/contracts";
import { ConfigError } from "../base/index.ts";
import { freshId, refusal } from "./caller-results.ts";
import { asCaller, openCaller, type CallerFlags, type Show } from "./connection.ts";
import { jsonText, oneLine } from "./table.ts";
import { readJsonFlag, readPrincipal } from "./flags.ts";
import { capabilityText } from "./format.ts";

interface TurnFlags extends CallerFlags {
  agent: string;
  from: string;
  purpose: string;
  message: string;
  follow?: boolean;
}

/** `turn`: one bounded turn of an agent. */
export function addTurnCommand(program: Command, show: Show): void {
  asCaller(
    program.command("turn"),
    "Run one turn of an agent and print how it ended.",
    `turnpike turn --agent assistant --from human:alice --purpose demo --message '{"read":"notes/todo.md"}'`,
  )
    .requiredOption("--agent <id>", "the agent, who has to be the credential's actor")
    .requiredOption("--from <kind:id>", "who the message is from")
    .requiredOption("--message <json>", "what the agent is told")
    .option("--follow", "print each event as it happens")
    .action(async (flags: TurnFlags) => {
      const { client, traceId } = openCaller(flags);
      if (flags.purpose === undefined) throw new ConfigError("turn: expected --purpose, one of the credential's.");
      const request = turnRequest(flags, traceId);
      const result = flags.follow === true ? await follow(client, request) : await client.executeTurn(request);
      show(flags, result, turnText(result));
      if (result.status === "succeeded" || result.status === "escalated") return;
      const error = result.error ?? { code: "turn_cancelled", message: "The turn was cut short." };
      throw refusal(result.status, error, traceId);
    });
}

type Client = ReturnType<typeof openCaller>["client"];
type TurnRequest = Parameters<Client["executeTurn"]>[0];

function turnRequest({ agent: agentId, from, message, purpose }: TurnFlags, traceId: string): TurnRequest {
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
  return { version: 1, executionId: freshId("turn"), agent, message: envelope };
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
  const wants = requestedAuthority?.capabilities.map(capabilityText).join("; ");
  const requested = wants === undefined ? "" : `\nIt requests: ${oneLine(wants)}`;
  return `The turn ended with an escalation: ${oneLine(reason)}${requested}\nAn operator answers it: turnpike escalation list --tenant <tenant>`;
}
