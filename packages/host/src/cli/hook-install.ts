import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError, inFile, kindOf, parsePlaced, putInPlace } from "../shared/index.ts";
import type { CodingAgent } from "../agent-hooks/index.ts";

/** Where each agent reads its hooks, and the hooks at which it asks about a tool or has run one. */
const agents: Readonly<Record<CodingAgent, { file: string; events: readonly string[]; own: object }>> = {
  "claude-code": {
    file: ".claude/settings.json",
    events: ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"],
    // Without it, the agent runs the tool where the hook cannot be started.
    own: { onFailure: "block" },
  },
  codex: { file: ".codex/hooks.json", events: ["PreToolUse", "PermissionRequest", "PostToolUse"], own: {} },
};

/** Longer than a hook takes with the longest wait: an agent whose hook is late runs the tool. */
const timeoutSeconds = 120;

/** What was done to the file of an agent. */
export interface Installed {
  file: string;
  kind: "written" | "there before";
  command: string;
  events: readonly string[];
}

/**
 * Adds the hooks of `command` to an agent's file below a folder, in the place of earlier ones of ours. What else is there stays.
 * Throws a `ConfigError`, and changes nothing, when the file is not understood.
 */
export function installHooks(agent: CodingAgent, folder: string, command: string): Installed {
  const { events, own, file: name } = agents[agent];
  const file = join(folder, name);
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const settings = settingsIn(file, text);
  for (const event of events) {
    const groups = (settings.hooks[event] ?? []).map(withoutOurs).filter((group) => handlersOf(group)?.length !== 0);
    settings.hooks[event] = [...groups, { hooks: [{ type: "command", command, timeout: timeoutSeconds, ...own }] }];
  }
  const written = `${JSON.stringify(settings.all, null, indentOf(text))}\n`;
  const isThere = text.trimEnd() === written.trimEnd();
  if (!isThere) replace(file, written);
  return { file, kind: isThere ? "there before" : "written", command, events };
}

type Group = Readonly<Record<string, unknown>>;

/** The hooks of a file, and everything around them. */
function settingsIn(file: string, text: string): { all: object; hooks: Record<string, readonly Group[]> } {
  if (text.trim() === "") {
    const hooks = {};
    return { all: { hooks }, hooks };
  }
  const { value, placeOf } = parsePlaced(file, text);
  const expect = (found: unknown, path: readonly PropertyKey[], isFine: boolean, expected: string): void => {
    if (isFine) return;
    const where = path.length === 0 ? "" : `${path.join(".")}: `;
    throw new ConfigError(
      `${inFile(file, placeOf(path))}: ${where}found ${kindOf(found)}, expected ${expected}. Nothing was changed.`,
    );
  };
  expect(value, [], isObject(value), "an object");
  const all = value as Record<string, unknown>;
  const hooks = (all["hooks"] ??= {});
  expect(hooks, ["hooks"], isObject(hooks), "an object");
  for (const [event, groups] of Object.entries(hooks as object)) {
    expect(groups, ["hooks", event], Array.isArray(groups), "a list");
    for (const [index, group] of (groups as unknown[]).entries())
      expect(group, ["hooks", event, index], isObject(group), "an object");
  }
  return { all, hooks: hooks as Record<string, readonly Group[]> };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function handlersOf(group: Group): readonly unknown[] | undefined {
  const { hooks } = group;
  return Array.isArray(hooks) ? (hooks as unknown[]) : undefined;
}

/** A group without the handlers that were installed before, by this name of the program or another. */
function withoutOurs(group: Group): Group {
  const isOurs = (handler: unknown): boolean =>
    isObject(handler) && / hook --agent (?:claude-code|codex)(?: |$)/.test(String(handler["command"]));
  const handlers = handlersOf(group);
  return handlers?.some(isOurs) === true ? { ...group, hooks: handlers.filter((each) => !isOurs(each)) } : group;
}

/** The indentation of the file, as its first line that has one shows it. */
function indentOf(text: string): string {
  const [, indent] = /\n([ \t]+)\S/.exec(text) ?? [];
  return indent ?? "  ";
}

/** Puts the text in the place of the file at once. A symbolic link stays one, and so do the file's rights. */
function replace(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const target = existsSync(file) ? realpathSync(file) : file;
  const draft = `${target}.${process.pid}.draft`;
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : 0o644;
  writeFileSync(draft, text, { mode, flag: "wx" });
  putInPlace(draft, target, { isReplaced: true });
}
