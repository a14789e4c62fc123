import type { Command } from "commander";
import { JsonObjectSchema, type JsonObject, type JsonValue, type ToolDescriptor } from "turnpike/contracts";
import { ConfigError } from "../shared/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { freshId, outputOf } from "./caller-results.ts";
import {
  asCaller,
  asOperator,
  defaultDatabase,
  openCaller,
  type Caller,
  type CallerFlags,
  type OperatorFlags,
  type Show,
} from "./connection.ts";
import { withProgress } from "./progress.ts";
import { type Column, jsonText, oneLine, renderTable } from "./table.ts";
import { readJsonFlag } from "./flags.ts";

/** Whose access an operator tries something with. */
interface TrialFlags extends OperatorFlags {
  tenant: string;
  as: string;
  purpose?: string;
}

type ListFlags = CallerFlags & OperatorFlags & Partial<Pick<TrialFlags, "tenant" | "as">>;

/** `tools list | call | try`: what a credential may use, using it, and trying it as an operator. */
export function addToolsCommands(program: Command, show: Show): void {
  const tools = program
    .command("tools")
    .description("List, call and try the tools that a credential may use.")
    .exitOverride();
  asCaller(
    tools.command("list"),
    "List the tools that this credential may use right now; as an operator, those of any credential.",
    "turnpike tools list",
  )
    .option("--as <id>", "as an operator: the id of the credential; it needs --tenant")
    .option("--tenant <id>", "as an operator: the tenant of the credential")
    .option(
      "--database <location>",
      "as an operator: the host's database, beside which your token is stored; or set TURNPIKE_ADMIN_TOKEN",
      defaultDatabase,
    )
    .action(async (flags: ListFlags) => {
      const list = await listTools(flags);
      show(flags, list, list.length === 0 ? "This credential may use no tool." : renderTable(toolColumns, list));
    });
  asCaller(
    tools.command("call"),
    "Call a tool and print what it answers.",
    `turnpike tools call files.read --args '{"path":"notes/todo.md"}'`,
  )
    .argument("<tool>", "its name")
    .option("--args <json>", "its arguments", "{}")
    .action(async (tool: string, flags: CallerFlags & { args: string }) => {
      const args = readArguments(flags.args);
      const output = await withProgress(
        `Calling ${oneLine(tool)}`,
        () => callTool(openCaller(flags), tool, args),
        flags,
      );
      show(flags, output, jsonText(output));
    });
  asOperator(
    tools.command("try"),
    "As an operator, call a tool as the bearer of a credential would, through the same gate. The audit log names you.",
    `turnpike tools try files.read --tenant acme --as 0123456789abcdef --args '{"path":"notes/todo.md"}'`,
  )
    .argument("<tool>", "its name")
    .requiredOption("--tenant <id>", "the tenant of the credential")
    .requiredOption("--as <id>", "the id of the credential")
    .option("--purpose <purpose>", "what this is done for; the credential's first purpose unless given")
    .option("--args <json>", "its arguments", "{}")
    .action(async (tool: string, flags: TrialFlags & { args: string }) => {
      const trial = { ...trialOf(flags), tool, arguments: readArguments(flags.args) };
      const trying = withProgress(`Calling ${oneLine(tool)}`, () => requestAdmin(flags, "tryTool", trial), flags);
      const output = outputOf(await trying);
      show(flags, output, jsonText(output));
    });
}

const toolColumns: readonly Column<ToolDescriptor>[] = [
  { heading: "TOOL", value: ({ name }) => name },
  { heading: "KIND", value: ({ readWrite }) => readWrite },
  { heading: "WHAT IT DOES", value: ({ description }) => description, shrinks: 1 },
];

/** The tools of the caller, or those of the credential that an operator names. */
async function listTools(flags: ListFlags): Promise<readonly ToolDescriptor[]> {
  const { as, tenant } = flags;
  if (as === undefined && tenant === undefined) return openCaller(flags).client.listTools();
  if (as === undefined || tenant === undefined)
    throw new ConfigError("tools list: expected --as and --tenant together, or neither of them.");
  if (flags.token !== undefined)
    throw new ConfigError("--token: with --as this acts as an operator. Set TURNPIKE_ADMIN_TOKEN instead.");
  return (await requestAdmin(flags, "listOfferedTools", trialOf({ ...flags, as, tenant }))).tools;
}

function trialOf({ tenant: namespaceId, as: credentialId, purpose }: TrialFlags) {
  return { namespaceId, credentialId, ...(purpose !== undefined && { purpose }) };
}

function readArguments(text: string): JsonObject {
  const checked = JsonObjectSchema.safeParse(readJsonFlag("--args", text));
  if (!checked.success) throw new ConfigError("--args: expected a JSON object.");
  return checked.data;
}

/** Calls one tool, once. */
export async function callTool({ client, traceId }: Caller, tool: string, args: JsonObject): Promise<JsonValue> {
  const call = { id: freshId("call"), tool, arguments: args, requestedAt: new Date().toISOString(), traceId };
  return outputOf(await client.invokeTool(call), traceId);
}
