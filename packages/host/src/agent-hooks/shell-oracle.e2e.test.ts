import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readCommands } from "./simple-commands.ts";

/** Every line is run with each shell; a program is only told its words. */
const shells = ["bash", "dash"];
const programs = ["a", "b"];
const lineCount = 4000;

/** Lines of all characters that mean something to a shell, of which some are decided. */
function decidedLines(): { line: string; commands: string[][] }[] {
  const characters = fc.constantFrom(..."aabb    &&||;;''\"\"$`\\(){}<>#=%/.-,@:+");
  const noise = fc.array(characters, { minLength: 1, maxLength: 14 }).map((all) => all.join(""));
  const isLikely = fc.tuple(fc.constantFrom(...programs), noise).map(([program, rest]) => `${program} ${rest}`);
  return fc.sample(isLikely, lineCount * 20).flatMap((line) => {
    const read = readCommands(line);
    if (read.kind === "undecided") return [];
    const isKnown = read.commands.every(([program]) => programs.includes(program?.text ?? "") && !program?.isQuoted);
    return isKnown ? [{ line, commands: read.commands.map((words) => words.map(({ text }) => text)) }] : [];
  });
}

/** The commands that a shell ran of each line. Each is told in one write, because those of a pipe run at the same time. */
function runIn(shell: string, lines: readonly string[]): string[][][] {
  const told = `all=; for word in "$@"; do all="$all$word\u001F"; done; printf "%s\\036" "$all" >&3`;
  const define = programs.map((program) => `${program}() { set -- ${program} "$@"; ${told}; }`).join("\n");
  const script = ["exec 3>&1 1>/dev/null", define, ...lines.flatMap((line) => [line, `printf "\\035" >&3`])].join("\n");
  const file = join(mkdtempSync(join(tmpdir(), "oracle-")), "script");
  writeFileSync(file, script);
  const { stdout, stderr, status } = spawnSync(shell, [file], { maxBuffer: 1e9 });
  expect([stderr.toString(), status]).toEqual(["", 0]);
  const parts = stdout.toString().split("\u001D").slice(0, -1);
  return parts.map((part) =>
    part
      .split("\u001E")
      .slice(0, -1)
      .map((words) => words.split("\u001F").slice(0, -1)),
  );
}

for (const shell of shells)
  test(`${shell} runs the commands that were read, with the words that were read`, () => {
    const decided = decidedLines();
    expect(decided.length).toBeGreaterThan(500);
    const ran = runIn(
      shell,
      decided.map(({ line }) => line),
    );
    for (const [index, { line, commands }] of decided.entries()) {
      // Behind `||` nothing runs, and the commands of a pipe end in any order.
      const known = new Set(commands.map((words) => JSON.stringify(words)));
      const unread = ran[index]?.filter((words) => !known.has(JSON.stringify(words)));
      const missing = line.includes("|") ? [] : commands.slice(ran[index]?.length);
      expect([line, unread, missing, ran[index]?.length === 0]).toEqual([line, [], [], false]);
    }
  });
