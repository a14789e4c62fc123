import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { installHooks } from "./hook-install.ts";

const command = "turnpike hook --agent claude-code";
const ours = { type: "command", command, timeout: 120, onFailure: "block" };
const own = { type: "command", command: "turnpike hook --agent codex", timeout: 120 };
const others = { matcher: "Bash", hooks: [{ type: "command", command: "lint" }] };

/** A folder whose settings are this text. */
function folderWith(text: string, file = ".claude/settings.json") {
  const folder = temporaryFolder();
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return {
    folder,
    path,
    text: () => readFileSync(path, "utf8"),
    settings: () => JSON.parse(readFileSync(path, "utf8")) as object,
  };
}

test("a folder without settings gets them, for Claude Code", () => {
  const folder = temporaryFolder();
  const file = join(folder, ".claude/settings.json");
  const events = ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"];
  expect(installHooks("claude-code", folder, command)).toEqual({ file, kind: "written", command, events });
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    hooks: Object.fromEntries(events.map((event) => [event, [{ hooks: [ours] }]])),
  });
});

test("a folder without settings gets them, for Codex", () => {
  const folder = temporaryFolder();
  installHooks("codex", folder, own.command);
  expect(JSON.parse(readFileSync(join(folder, ".codex/hooks.json"), "utf8"))).toEqual({
    hooks: {
      PreToolUse: [{ hooks: [own] }],
      PermissionRequest: [{ hooks: [own] }],
      PostToolUse: [{ hooks: [own] }],
    },
  });
});

test("what is there stays, in its order and its indentation", () => {
  const before = { model: "x", hooks: { Stop: [others], PreToolUse: [others] }, unknown: [1.5, null] };
  const { folder, text, settings } = folderWith(JSON.stringify(before, null, "\t"));
  installHooks("claude-code", folder, command);
  expect(settings()).toEqual({
    ...before,
    hooks: {
      Stop: [others],
      PreToolUse: [others, { hooks: [ours] }],
      PermissionRequest: [{ hooks: [ours] }],
      PostToolUse: [{ hooks: [ours] }],
      PostToolUseFailure: [{ hooks: [ours] }],
    },
  });
  expect(text()).toContain('{\n\t"model": "x",\n\t"hooks": {');
});

test("again it changes nothing, and a changed command replaces the one before", () => {
  const { folder, text, settings } = folderWith(JSON.stringify({ hooks: { PreToolUse: [others] } }));
  installHooks("claude-code", folder, command);
  const first = text();
  expect(installHooks("claude-code", folder, command).kind).toBe("there before");
  expect(text()).toBe(first);
  const next = "node /x/turnpike.js hook --agent claude-code --shadow";
  expect(installHooks("claude-code", folder, next).kind).toBe("written");
  expect(settings()).toMatchObject({ hooks: { PreToolUse: [others, { hooks: [{ ...ours, command: next }] }] } });
  expect(text()).not.toContain('"turnpike hook');
});

test("a hook of another program in the same group stays when ours is replaced", () => {
  const mixed = { matcher: "*", hooks: [{ type: "command", command: "lint" }, ours] };
  const { folder, settings } = folderWith(JSON.stringify({ hooks: { PostToolUse: [mixed] } }));
  installHooks("claude-code", folder, command);
  expect(settings()).toMatchObject({
    hooks: { PostToolUse: [{ matcher: "*", hooks: [{ type: "command", command: "lint" }] }, { hooks: [ours] }] },
  });
});

describe("a file that is not understood is named with the place, and stays as it is", () => {
  for (const [name, text, message] of [
    ["no JSON", '{\n  "hooks": }', "settings.json:2:12: this is not JSON: found }, expected a value"],
    ["a comment", "{\n  // mine\n}", "settings.json:2:3: this is not JSON: found a comment, which JSON does not have"],
    ["a key twice", '{"a":1,\n"a":2}', 'settings.json:2:1: the key "a" appears twice in one object'],
    ["a number that would change", '{"a":\n12345678901234567890}', "settings.json:2:1: found a number,"],
    ["a list", "[]", "settings.json:1:1: found a list, expected an object. Nothing was changed."],
    ["hooks that are a list", '{"hooks":[]}', "settings.json:1:10: hooks: found a list, expected an object."],
    ["an event that is no list", '{"hooks":{"Stop":{}}}', "hooks.Stop: found an object, expected a list."],
    ["a group that is no object", '{"hooks":{"Stop":["x"]}}', "hooks.Stop.0: found a text, expected an object."],
  ] as const)
    test(name, () => {
      const world = folderWith(text);
      expect(() => installHooks("claude-code", world.folder, command)).toThrow(message);
      expect([world.text(), readdirSync(dirname(world.path))]).toEqual([text, ["settings.json"]]);
    });
});

test("a symbolic link stays one, and the file has the rights that it had", () => {
  const { folder, path } = folderWith("{}", "dotfiles/settings.json");
  chmodSync(path, 0o600);
  mkdirSync(join(folder, ".claude"));
  const link = join(folder, ".claude/settings.json");
  symlinkSync(path, link);
  installHooks("claude-code", folder, command);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).toContain(command);
});
