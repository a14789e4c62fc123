import type { Command } from "commander";
import { JsonObjectSchema, type JsonObject, type JsonValue } from "turnpike/contracts";
import { ConfigError } from "../base/index.ts";
import { freshId, outputOf } from "./caller-results.ts";
import { asCaller, openCaller, type Caller, type CallerFlags, type Show } from "./connection.ts";
import { jsonText, renderTable } from "./table.ts";
import { readJsonFlag } from "./flags.ts";

/** `tools list | call`: what a credential may use, and using it. */
export function addToolsCommands(program: Command, show: Show): void {
  const tools = program
    .command("tools")
    .description("List and call the tools that a credential may use.")
    .exitOverride();
  asCaller(
    tools.command("list"),
    "List the tools that this credential may use right now.",
    "turnpike tools list",
  ).action(async (flags: CallerFlags) => {
    const list = await openCaller(flags).client.listTools();
    const rows = list.map(({ name, readWrite, description }) => [name, readWrite, description]);
    const table = renderTable(["TOOL", "KIND", "WHAT IT DOES"], rows);
    show(flags, list, list.length === 0 ? "This credential may use no tool." : table);
  });
  asCaller(
    tools.command("call"),
    "Call a tool and print what it answers.",
    `turnpike tools call files.read --args '{"path":"notes/todo.md"}'`,
  )
    .argument("<tool>", "its name")
    .option("--args <json>", "its arguments", "{}")
    .action(async (tool: string, flags: CallerFlags & { args: string }) => {
      const checked = JsonObjectSchema.safeParse(readJsonFlag("--args", flags.args));
      if (!checked.success) throw new ConfigError("--args: expected a JSON object.");
      const output = await callTool(openCaller(flags), tool, checked.data);
      show(flags, output, jsonText(output));
    });
}

/** Calls one tool, once. */
export async function callTool({ client, traceId }: Caller, tool: string, args: JsonObject): Promise<JsonValue> {
  const call = { id: freshId("call"), tool, arguments: args, requestedAt: new Date().toISOString(), traceId };
  return outputOf(await client.invokeTool(call), traceId);
}
