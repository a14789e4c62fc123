import { posix } from "node:path";
import { type Import, isTest, readImports } from "./import-graph.ts";

const library = "packages/turnpike/src";
const host = "packages/host/src";
const agents = "packages/agents/src";

/** The one import of a framework: its own `interrupt`, in a graph of that framework alone. */
const frameworkImports = new Set([`${agents}/langchain/govern.ts: name`]);

/** What each room or package may import, apart from itself. */
const arrows = new Map<string, readonly string[]>([
  ["internal", []],
  ["contracts", ["internal"]],
  ["kernel", ["internal", "contracts"]],
  ["runtime", ["internal", "contracts", "kernel"]],
  ["http", ["internal", "contracts", "kernel", "runtime"]],
  ["client", ["internal", "contracts"]],
  ["testing", ["internal", "contracts", "kernel", "runtime", "http", "client"]],
  ["host", ["contracts", "kernel", "runtime", "http", "client", "testing"]],
  ["console", ["contracts", "client"]],
  ["agents", ["contracts", "client"]],
]);

/**
 * The host's rooms, from the top floor down. A room imports rooms of lower floors alone, so those of one floor do not know
 * each other; each protocol is a room.
 */
const hostFloors: readonly (readonly string[])[] = [
  ["cli"],
  ["compose"],
  ["demo"],
  ["protocols"],
  ["front"],
  ["people", "connections"],
  ["access"],
  ["events"],
  ["turns"],
  ["retention"],
  [
    "grants",
    "audit",
    "escalations",
    "messages",
    "files",
    "tool-namespaces",
    "mcp-servers",
    "webhooks",
    "agent-hooks",
    "cedar",
  ],
  ["admin-contract"],
  ["ledger"],
  ["storage"],
  ["telemetry"],
  ["shared"],
  ["display"],
];

/** What the console may know of the host: its management API, as types and as calls, and what is shown of a name or a grant. */
const consoleDoors = new Set(
  ["admin-contract", "admin-contract/call", "admin-contract/event-filter", "display"].map(
    (door) => `turnpike-host/${door}`,
  ),
);

/** One sentence per import, below `root`, that the architecture does not allow. */
export function boundaryViolations(root: string): string[] {
  const imports = readImports(root);
  return [...imports.flatMap((each) => violation(each) ?? []), ...cycles(imports)];
}

function violation({ file, specifier, target, isType }: Import): string | undefined {
  // It is part of the page: whatever it imports as more than a type, every browser loads.
  if (isDisplay(file) && !isType && !isDisplay(target ?? ""))
    return `${file}: display may import types alone ("${specifier}")`;
  if (target === undefined) return thirdPartyViolation(file, specifier);
  if (isTest(target)) return `${file}: source may not import the test "${specifier}"`;

  if (isHost(file) && isHost(target)) return hostViolation(file, specifier, target);
  if (isAgents(file) && isAgents(target)) return agentsViolation(file, specifier, target);
  if (isConsole(file) && consoleDoors.has(specifier)) return undefined;
  const from = place(file);
  const to = place(target);
  if (from === to) return undefined;
  if (!arrows.get(from)?.includes(to)) return `${file}: ${from} may not import ${to} ("${specifier}")`;

  const door = isLibrary(file) ? posix.relative(posix.dirname(file), `${library}/${to}/index.ts`) : `turnpike/${to}`;
  return specifier === door ? undefined : `${file}: ${to} is imported as "${door}", not as "${specifier}"`;
}

function hostViolation(file: string, specifier: string, target: string): string | undefined {
  const [from, to] = [hostRoom(file), hostRoom(target)];
  if (from === to) return undefined;
  if (!(floorOf(from) < floorOf(to))) return `${file}: ${from} may not import ${to} ("${specifier}")`;
  const door = posix.relative(posix.dirname(file), `${host}/${to}/index.ts`);
  return specifier === door ? undefined : `${file}: ${to} is imported as "${door}", not as "${specifier}"`;
}

/** A framework knows what all have in common, and no other framework. */
function agentsViolation(file: string, specifier: string, target: string): string | undefined {
  const [from, to] = [agentsRoom(file), agentsRoom(target)];
  if (from === to) return undefined;
  if (from === "core" || to !== "core") return `${file}: agents/${from} may not import agents/${to} ("${specifier}")`;
  return specifier === "../core/index.ts"
    ? undefined
    : `${file}: core is imported as "../core/index.ts", not as "${specifier}"`;
}

function agentsRoom(path: string): string {
  return path.slice(agents.length + 1).split("/")[0] ?? "";
}

/** Counted from the top; a folder that is no room is on none. */
function floorOf(room: string): number {
  const floor = hostFloors.findIndex((rooms) => rooms.includes(room.split("/")[0] ?? ""));
  return floor === -1 ? Number.NaN : floor;
}

/** A folder of the host's sources; "the top folder" for a file that is in none. */
function hostRoom(path: string): string {
  const [room = "", protocol = "", ...rest] = path.slice(host.length + 1).split("/");
  if (protocol === "") return "the top folder";
  return room === "protocols" && rest.length > 0 ? `${room}/${protocol}` : room;
}

function thirdPartyViolation(file: string, specifier: string): string | undefined {
  if (isAgents(file) && !frameworkImports.has(`${file}: ${specifier}`))
    return `${file}: agents may import no framework ("${specifier}")`;
  if (!isLibrary(file)) return undefined;
  if (!/^zod(\/|$)/.test(specifier)) return `${file}: the library may not import "${specifier}"`;
  // A tool's author hands defineTool a zod schema; nothing else above the contracts knows zod.
  const knowsZod = ["internal", "contracts"].includes(place(file)) || file === `${library}/kernel/tool.ts`;
  return knowsZod ? undefined : `${file}: only internal, contracts and kernel/tool.ts may import "${specifier}"`;
}

function cycles(imports: readonly Import[]): string[] {
  const finished = new Set<string>();
  const found: string[] = [];

  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start !== -1) found.push(`cycle: ${[...path.slice(start), file].join(" -> ")}`);
    if (start !== -1 || finished.has(file)) return;
    for (const each of imports) if (each.file === file && each.target) visit(each.target, [...path, file]);
    finished.add(file);
  };

  for (const { file } of imports) visit(file, []);
  return found;
}

function isHost(path: string): boolean {
  return path.startsWith(`${host}/`);
}

function isAgents(path: string): boolean {
  return path.startsWith(`${agents}/`);
}

function isDisplay(path: string): boolean {
  return path.startsWith(`${host}/display/`);
}

function isConsole(path: string): boolean {
  return path.startsWith("packages/console/src/");
}

function isLibrary(path: string): boolean {
  return path.startsWith(`${library}/`);
}

/** The library's room, or the package, that a path belongs to. */
function place(path: string): string {
  const [, name = "", , room = ""] = path.split("/");
  return isLibrary(path) ? room : name;
}
