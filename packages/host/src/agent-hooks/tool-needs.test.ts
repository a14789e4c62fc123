import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { callNeeds } from "./tool-needs.ts";

/** What a call needs as `action namespace/path`, or why it cannot be said. */
function needsOf(tool: string, input: JsonObject, cwd: unknown = "/home/ann/work"): string[] | string {
  const { needs } = callNeeds({ tool, input, cwd });
  if (needs.kind === "undecided") return needs.why;
  return needs.needs.map(({ action, resource: { namespace, path } }) => `${action} ${[namespace, ...path].join("/")}`);
}

const back = "its path has a backslash";
const windows = "its path has a name that Windows reads as another one";
const leaves = "its pattern may lead out of the folder that is searched";

describe("a file is a place on the disk", () => {
  for (const { tool, input, cwd, needs } of [
    { tool: "Read", input: { file_path: "/etc/hosts" }, needs: ["read disk/etc/hosts"] },
    { tool: "Write", input: { file_path: "/tmp/a", content: "x" }, needs: ["write disk/tmp/a"] },
    { tool: "Edit", input: { file_path: "/tmp/a" }, needs: ["write disk/tmp/a"] },
    { tool: "MultiEdit", input: { file_path: "/tmp/a" }, needs: ["write disk/tmp/a"] },
    { tool: "NotebookEdit", input: { notebook_path: "/tmp/a.ipynb" }, needs: ["write disk/tmp/a.ipynb"] },
    { tool: "NotebookRead", input: { notebook_path: "/tmp/a.ipynb" }, needs: ["read disk/tmp/a.ipynb"] },
    { tool: "Read", input: { file_path: "src/a.ts" }, needs: ["read disk/home/ann/work/src/a.ts"] },
    { tool: "Read", input: { file_path: "./src//./a.ts/" }, needs: ["read disk/home/ann/work/src/a.ts"] },
    { tool: "Read", input: { file_path: "../other/a" }, needs: ["read disk/home/ann/other/a"] },
    { tool: "Read", input: { file_path: "/home/ann/work/../../bob/a" }, needs: ["read disk/home/bob/a"] },
    { tool: "Read", input: { file_path: "/../../../a" }, needs: ["read disk/a"] },
    { tool: "Read", input: { file_path: "/" }, needs: ["read disk"] },
    { tool: "Read", input: { file_path: "/tmp/a b ä ~" }, needs: ["read disk/tmp/a b ä ~"] },
    { tool: "LS", input: { path: "/tmp" }, needs: ["read disk/tmp"] },
    { tool: "Grep", input: { pattern: "../x" }, needs: ["read disk/home/ann/work"] },
    { tool: "Grep", input: { pattern: "x", path: "src" }, needs: ["read disk/home/ann/work/src"] },
    { tool: "Glob", input: { pattern: "**/*.ts" }, needs: ["read disk/home/ann/work"] },
    { tool: "Glob", input: { pattern: "*.ts", path: "/tmp" }, needs: ["read disk/tmp"] },
    { tool: "Glob", input: { pattern: "/etc/*" }, needs: leaves },
    { tool: "Glob", input: { pattern: "src/../../*" }, needs: leaves },
    { tool: "Glob", input: { pattern: "~/*" }, needs: leaves },
    { tool: "Glob", input: { pattern: "c:/*" }, needs: leaves },
    { tool: "Glob", input: {}, needs: leaves },
    { tool: "Read", input: { file_path: "~/a" }, needs: "whose home folder ~ is cannot be known" },
    { tool: "Read", input: { file_path: "" }, needs: "it names no file" },
    { tool: "Read", input: {}, needs: "it names no file" },
    { tool: "Read", input: { file_path: 7 }, needs: "it names no file" },
    { tool: "Read", input: { file_path: "a" }, cwd: null, needs: "it names a file from a folder that is not known" },
    { tool: "Read", input: { file_path: "a" }, cwd: "work", needs: "it names a file from a folder that is not known" },
    { tool: "Read", input: { file_path: "/tmp/a" }, cwd: null, needs: ["read disk/tmp/a"] },
    { tool: "Read", input: { file_path: "/tmp\\a" }, needs: back },
    { tool: "Read", input: { file_path: "..\\a" }, needs: back },
    { tool: "Read", input: { file_path: "//host/share" }, needs: "its path begins with two slashes" },
    {
      tool: "Read",
      input: { file_path: "/tmp/a\u0000b" },
      needs: "its path is too long or has a character that is not shown",
    },
    {
      tool: "Read",
      input: { file_path: "/a".repeat(65) },
      needs: "its path is too long or has a character that is not shown",
    },
    { tool: "Read", input: { file_path: "c:\\Users\\ann\\a.txt" }, needs: ["read disk/C:/Users/ann/a.txt"] },
    { tool: "Read", input: { file_path: "C:/Users/ann/../bob/a" }, needs: ["read disk/C:/Users/bob/a"] },
    { tool: "Read", input: { file_path: "C:/../../a" }, needs: ["read disk/C:/a"] },
    { tool: "Read", input: { file_path: "..\\a" }, cwd: "C:\\work\\one", needs: ["read disk/C:/work/a"] },
    { tool: "Read", input: { file_path: "C:/work/.. /a" }, needs: windows },
    { tool: "Read", input: { file_path: "C:/work./a" }, needs: windows },
    { tool: "Read", input: { file_path: "C:/work/a:stream" }, needs: windows },
    { tool: "Read", input: { file_path: "\\\\?\\C:\\a" }, needs: back },
  ])
    test(`${tool} ${JSON.stringify(input)} in ${String(cwd)}`, () => {
      expect(needsOf(tool, input, ...(cwd === undefined ? [] : [cwd]))).toEqual(needs);
    });
});

describe("a patch needs every file that it names", () => {
  const untold = "the files of its patch cannot be told";
  const patch = (...lines: string[]): JsonObject => ({
    command: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n"),
  });
  for (const { name, input, needs } of [
    {
      name: "added, changed, deleted and moved ones",
      input: patch(
        "*** Add File: a",
        "+x",
        "*** Update File: b",
        "*** Move to: /etc/c",
        "@@",
        "-x",
        "*** Delete File: ../d",
      ),
      needs: ["a", "b"].map((file) => `write disk/w/${file}`).concat("write disk/etc/c", "write disk/d"),
    },
    {
      name: "one named twice, once",
      input: patch("*** Update File: a", "*** Update File: ./a"),
      needs: ["write disk/w/a"],
    },
    { name: "one with spaces before its heading", input: patch("  *** Add File: a"), needs: ["write disk/w/a"] },
    { name: "none when there is none", input: patch("+x"), needs: untold },
    { name: "none when a heading is not known", input: patch("*** Add File: a", "*** Rename File: b"), needs: untold },
    { name: "none when a heading names nothing", input: patch("*** Add File: a", "*** Delete File:"), needs: untold },
    { name: "none when the patch is no text", input: { command: 7 }, needs: untold },
    {
      name: "none when a path cannot be told",
      input: patch("*** Add File: ~/a"),
      needs: "whose home folder ~ is cannot be known",
    },
    {
      name: "none when there are too many",
      input: patch(...Array.from({ length: 65 }, (_, index) => `*** Add File: f${index}`)),
      needs: "it changes too many files at once",
    },
  ])
    test(name, () => {
      expect(needsOf("apply_patch", input, "/w")).toEqual(needs);
    });
});

describe("other tools", () => {
  for (const [tool, input, needs] of [
    ["Bash", { command: "git push origin" }, ["run shell/git/push"]],
    ["Monitor", { command: "tail -f log" }, ["run shell/tail/log"]],
    ["Bash", { command: "sh x" }, "sh is a shell, which runs any command"],
    ["Bash", {}, "its command is no text"],
    ["Bash", { command: ["git", "push"] }, "its command is no text"],
    ["PowerShell", { command: "ls" }, "commands of PowerShell are not understood here"],
    ["WebFetch", { url: "https://example.com" }, ["call agent.tools/WebFetch"]],
    ["mcp__mail__send", {}, ["call agent.tools/mcp__mail__send"]],
    ["constructor", {}, ["call agent.tools/constructor"]],
    ["..", {}, "its tool has a name that no resource can have"],
    ["a/b", {}, "its tool has a name that no resource can have"],
  ] as const)
    test(`${tool} ${JSON.stringify(input)}`, () => {
      expect(needsOf(tool, input as JsonObject)).toEqual(needs);
    });
});

test("a person is asked about a command and its folder, however the model describes it", () => {
  const input = { command: "git push", description: "Push", timeout: 5, dangerouslyDisableSandbox: true };
  expect(callNeeds({ tool: "Bash", input, cwd: "/w" }).arguments).toEqual({
    command: "git push",
    dangerouslyDisableSandbox: true,
    cwd: "/w",
  });
  expect(callNeeds({ tool: "Write", input: { file_path: "/a", content: "x" }, cwd: "/w" }).arguments).toEqual({
    file_path: "/a",
    content: "x",
  });
});

test("only what reads the disk changes nothing", () => {
  const reading = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
  for (const tool of [...reading, "Bash", "Write", "Edit", "apply_patch", "WebFetch"])
    expect([tool, callNeeds({ tool, input: {}, cwd: "/w" }).isRead]).toEqual([tool, reading.includes(tool)]);
});
