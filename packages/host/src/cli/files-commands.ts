import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { JsonObject, JsonValue } from "turnpike/contracts";
import { ConfigError } from "../shared/index.ts";
import { freshId, outputOf } from "./caller-results.ts";
import { asCaller, openCaller, type CallerFlags, type Show } from "./connection.ts";
import { type Column, oneLine, renderTable, withMore } from "./table.ts";
import { readChoice, readCount } from "./flags.ts";

interface FileFlags extends CallerFlags {
  limit?: string;
  cursor?: string;
  depth?: string;
  in?: string;
  regex?: boolean;
  ignoreCase?: boolean;
  content?: string;
  file?: string;
  expectedVersion?: string;
  label?: string;
}

/** One action on files as a command. */
interface FileCommand {
  name: string;
  description: string;
  example: string;
  /** The argument behind the command's name: a path, or something to find. */
  argument: "[path]" | "<path>" | "<words>" | "<pattern>" | "<snapshot>";
  options: readonly (keyof typeof flagTexts)[];
}

const flagTexts = {
  depth: ["--depth <number>", "1 shows the direct children only"],
  in: ["--in <path>", "the folder to search"],
  regex: ["--regex", "the pattern is a regular expression"],
  ignoreCase: ["--ignore-case", "capitals do not count"],
  content: ["--content <text>", "the text; or --file"],
  file: ["--file <file>", "a local file with the text; - reads standard input"],
  expectedVersion: ["--expected-version <number>", "change nothing if the file has another version"],
  label: ["--label <text>", "a name for the snapshot"],
  limit: ["--limit <number>", "how many at most"],
  cursor: ["--cursor <cursor>", "go on behind the page that ended with this"],
} as const;

const paged = ["limit", "cursor"] as const;
const written = ["content", "file"] as const;

const fileCommands: readonly FileCommand[] = [
  {
    name: "list",
    description: "List files at and below a folder.",
    example: "turnpike files list notes",
    argument: "[path]",
    options: ["depth", ...paged],
  },
  {
    name: "stat",
    description: "Show a file's version and size.",
    example: "turnpike files stat notes/todo.md",
    argument: "<path>",
    options: [],
  },
  {
    name: "read",
    description: "Print a file.",
    example: "turnpike files read notes/todo.md",
    argument: "<path>",
    options: [],
  },
  {
    name: "search",
    description: "Find files by words, best first.",
    example: "turnpike files search 'water plants' --in notes",
    argument: "<words>",
    options: ["in", ...paged],
  },
  {
    name: "grep",
    description: "Find lines.",
    example: "turnpike files grep 'call (Bob|Carol)' --regex --in notes",
    argument: "<pattern>",
    options: ["in", "regex", "ignoreCase", ...paged],
  },
  {
    name: "create",
    description: "Write a file that is not there yet.",
    example: "turnpike files create notes/new.md --content 'Hello'",
    argument: "<path>",
    options: written,
  },
  {
    name: "replace",
    description: "Write a file that is there.",
    example: "turnpike files replace notes/new.md --file new.md --expected-version 1",
    argument: "<path>",
    options: [...written, "expectedVersion"],
  },
  {
    name: "append",
    description: "Write at the end of a file.",
    example: "turnpike files append notes/todo.md --content '- sleep'",
    argument: "<path>",
    options: [...written, "expectedVersion"],
  },
  {
    name: "delete",
    description: "Delete a file.",
    example: "turnpike files delete notes/new.md",
    argument: "<path>",
    options: ["expectedVersion"],
  },
];

const snapshotCommands: readonly FileCommand[] = [
  {
    name: "create",
    description: "Store what is at and below a path as it is now.",
    example: "turnpike files snapshot create notes --label before-cleanup",
    argument: "[path]",
    options: ["label"],
  },
  {
    name: "list",
    description: "List snapshots, newest first.",
    example: "turnpike files snapshot list notes",
    argument: "[path]",
    options: paged,
  },
  {
    name: "restore",
    description: "Make everything at and below a snapshot's path what it was.",
    example: "turnpike files snapshot restore s0abc --in notes",
    argument: "<snapshot>",
    options: ["in"],
  },
];

/** `files` and `files snapshot`: the twelve actions, through the gate like those of agents. */
export function addFilesCommands(program: Command, show: Show): void {
  const files = program.command("files").description("Read and write files with a credential.").exitOverride();
  for (const row of fileCommands) addFileCommand(files, row, row.name, show);
  const snapshots = files.command("snapshot").description("Store and restore states of a folder.").exitOverride();
  for (const row of snapshotCommands) addFileCommand(snapshots, row, `snapshot:${row.name}`, show);
}

function addFileCommand(parent: Command, row: FileCommand, action: string, show: Show): void {
  const command = asCaller(parent.command(row.name), row.description, row.example).argument(row.argument);
  for (const [flag, text] of row.options.map((option) => flagTexts[option])) command.option(flag, text);
  command.action(async (argument: string | undefined, flags: FileFlags) => {
    const input = inputOf(row, argument ?? "", flags);
    const { client, traceId } = openCaller(flags);
    const isPath = row.argument.includes("path");
    const resource = { namespace: "files", path: segments((isPath ? argument : flags.in) ?? "") };
    const result = await client.invokeResource({ operationId: freshId("operation"), action, resource, input });
    const output = outputOf(result, traceId) as JsonObject;
    show(flags, output, filesText(output));
  });
}

function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function inputOf({ argument, options }: FileCommand, given: string, flags: FileFlags): JsonObject {
  const { limit, cursor, depth, regex, ignoreCase, expectedVersion, label } = flags;
  return {
    ...(argument === "<words>" && { query: given }),
    ...(argument === "<pattern>" && { pattern: given }),
    ...(argument === "<snapshot>" && { snapshot: given }),
    ...(options.includes("content") && { content: contentOf(flags) }),
    ...(limit !== undefined && { limit: readCount("--limit", limit) }),
    ...(cursor !== undefined && { cursor }),
    ...(depth !== undefined && { depth: Number(readChoice("--depth", depth, ["1"])) }),
    ...(regex === true && { regex }),
    ...(ignoreCase === true && { ignoreCase }),
    ...(expectedVersion !== undefined && { expectedVersion: readCount("--expected-version", expectedVersion) }),
    ...(label !== undefined && { label }),
  };
}

function contentOf({ content, file }: FileFlags): string {
  if (content !== undefined && file === undefined) return content;
  if (content === undefined && file !== undefined) return readLocal(file);
  throw new ConfigError("expected --content or --file, and one of them only.");
}

function readLocal(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw new ConfigError(`--file ${file}: expected a file that can be read.`, { cause });
  }
}

/** A file's text as it is, a list as a table, anything else as its fields. */
function filesText(output: JsonObject): string {
  const { content, cursor } = output;
  if (typeof content === "string") return content.replace(/\n$/, "");
  const list = Object.values(output).find(Array.isArray);
  if (list === undefined) {
    return Object.entries(output)
      .map(([name, value]) => oneLine(`${name}: ${cell(value)}`))
      .join("\n");
  }
  const items = list as JsonObject[];
  if (items.length === 0) return "Nothing.";
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const columns = names.map((name): Column<JsonObject> => ({
    heading: name.replaceAll(/[A-Z]/g, " $&").toUpperCase(),
    value: (item) => cell(item[name]),
    // Lines of a file are the only thing here that is not copied into another command.
    ...(name === "text" && { shrinks: 1 }),
  }));
  return withMore(renderTable(columns, items), typeof cursor === "string" ? cursor : undefined);
}

function cell(value: JsonValue | undefined): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
