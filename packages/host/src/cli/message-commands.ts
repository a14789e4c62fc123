import type { Command } from "commander";
import { describeIssues, JsonValueSchema, type PrincipalRef } from "turnpike/contracts";
import { ConfigError } from "../shared/index.ts";
import { principalText } from "../display/index.ts";
import { asCaller, openCaller, type CallerFlags, type Show } from "./connection.ts";
import { type Column, oneLine, renderTable } from "./table.ts";
import { callTool } from "./tools-commands.ts";
import { readCount, readJsonFlag, readPrincipal } from "./flags.ts";
import { commandLine } from "./format.ts";

interface SendFlags extends CallerFlags {
  to: string;
  payload: string;
  replyTo?: string;
}

interface InboxFlags extends CallerFlags {
  limit?: number;
  cursor?: string;
  acknowledge?: string[];
  all?: boolean;
}

/** The part of the inbox's answer that is shown. */
interface Inbox {
  messages: { id: string; sender: PrincipalRef; receivedAt: string; payload: unknown; replyTo?: string }[];
  cursor: string;
  unknown: string[];
}

/** `message send | inbox`, with the tools of the same names. */
export function addMessageCommands(program: Command, show: Show): void {
  const messages = program.command("message").description("Send messages, and read one's own inbox.").exitOverride();
  asCaller(
    messages.command("send"),
    "Send a message.",
    `turnpike message send --to human:bob --payload '{"text":"The report is done."}'`,
  )
    .requiredOption("--to <kind:id>", "who gets it")
    .requiredOption("--payload <json>", "what it says")
    .option("--reply-to <id>", "the message that this one answers")
    .action(async (flags: SendFlags) => {
      readPrincipal("--to", flags.to);
      const payload = JsonValueSchema.safeParse(readJsonFlag("--payload", flags.payload));
      if (!payload.success) throw new ConfigError(`--payload: ${describeIssues(payload.error.issues)}`);
      const reply = flags.replyTo === undefined ? {} : { replyTo: flags.replyTo };
      const args = { to: flags.to, payload: payload.data, ...reply };
      const sent = (await callTool(openCaller(flags), "messages.send", args)) as { messageId: string };
      show(flags, sent, `Accepted ${sent.messageId}.`);
    });
  asCaller(
    messages.command("inbox"),
    "Read the inbox of the credential's actor, oldest first.",
    "turnpike message inbox --acknowledge 3f2a",
  )
    .option("--limit <number>", "how many at most", (text) => readCount("--limit", text))
    .option("--cursor <cursor>", "go on behind the page that ended with this")
    .option("--acknowledge <ids...>", "first mark these as dealt with")
    .option("--all", "show acknowledged ones too")
    .action(async (flags: InboxFlags) => {
      const inbox = (await callTool(openCaller(flags), "messages.inbox", {
        ...(flags.limit !== undefined && { limit: flags.limit }),
        ...(flags.cursor !== undefined && { after: flags.cursor }),
        ...(flags.acknowledge && { acknowledge: flags.acknowledge }),
        ...(flags.all === true && { includeAcknowledged: true }),
      })) as unknown as Inbox;
      show(flags, inbox, inboxText(inbox));
    });
}

const messageColumns: readonly Column<Inbox["messages"][number]>[] = [
  { heading: "ID", value: ({ id }) => id },
  { heading: "FROM", value: ({ sender }) => principalText(sender), shrinks: 1 },
  { heading: "RECEIVED", value: ({ receivedAt }) => receivedAt },
  { heading: "SAYS", value: ({ payload }) => JSON.stringify(payload), shrinks: 2 },
  { heading: "REPLY TO", value: ({ replyTo = "" }) => replyTo },
];

function inboxText({ messages, cursor, unknown }: Inbox): string {
  const table = renderTable(messageColumns, messages);
  const shown =
    messages.length === 0 ? "No message waits." : `${table}\nWhat comes next: ${commandLine(["--cursor", cursor])}`;
  return unknown.length === 0 ? shown : `${shown}\nNot in this inbox: ${oneLine(unknown.join(", "))}`;
}
