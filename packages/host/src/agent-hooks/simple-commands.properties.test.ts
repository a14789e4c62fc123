import fc from "fast-check";
import { expect, test } from "vitest";
import { timesOf } from "../../../../tests/support/size.ts";
import { placesBy } from "turnpike/contracts";
import { shellNeeds } from "./shell-needs.ts";
import { readCommands } from "./simple-commands.ts";

const numRuns = timesOf(2000, 200_000);
const name = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,5}$/);
const plain = fc.stringMatching(/^[a-zA-Z0-9_.,:@%+/-]{1,6}$/);
const quotedText = fc.stringMatching(/^[a-z |&;<>(){}#*!]{0,6}$/);
const word = fc.oneof(
  plain.map((text) => ({ written: text, text })),
  quotedText.map((text) => ({ written: `'${text}'`, text })),
  quotedText.map((text) => ({ written: `"${text}"`, text })),
  fc.tuple(plain, quotedText).map(([left, right]) => ({ written: `${left}"${right}"`, text: left + right })),
);
const command = fc.tuple(name, fc.array(word, { maxLength: 4 }));
const joints = [" && ", "&&", " || ", "||", " ; ", ";", " | ", "|"];
const line = fc.array(fc.tuple(command, fc.constantFrom(...joints)), { minLength: 1, maxLength: 4 });

/** The text of commands, and the words that a shell makes of it. */
function written(
  parts: readonly (readonly [readonly [string, readonly { written: string; text: string }[]], string])[],
) {
  const texts = parts.map(([[program, words], joint], index) => {
    const text = [program, ...words.map((each) => each.written)].join(" ");
    return index === parts.length - 1 ? text : text + joint;
  });
  return {
    text: texts.join(""),
    words: parts.map(([[program, words]]) => [program, ...words.map((each) => each.text)]),
  };
}

test("a line of plain and quoted words is read as the words that were written", () => {
  fc.assert(
    fc.property(line, (parts) => {
      const { text, words } = written(parts);
      const read = readCommands(text);
      expect(read.kind === "commands" && read.commands.map((each) => each.map((one) => one.text))).toEqual(words);
    }),
    { numRuns },
  );
});

test("one character outside of quotes that is not plain is enough for a denial", () => {
  const special = fc.constantFrom(
    "$",
    "`",
    "\\",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "\n",
    "\r",
    "\u0000",
    "\u00A0",
    "\u202E",
  );
  const place = fc.constantFrom("before", "after", "between");
  fc.assert(
    fc.property(line, special, place, (parts, character, where) => {
      const { text } = written(parts);
      const spoiled = { before: character + text, after: text + character, between: `${text}; x${character}y` }[where];
      expect(shellNeeds(spoiled).kind).toBe("undecided");
    }),
    { numRuns },
  );
});

test("a word becomes the step that a rule of arguments makes of it", () => {
  const place = placesBy({ path: ["$word"] });
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z.%/\\]{1,8}$/), (text) => {
      const needs = shellNeeds(`x '${text}'`);
      expect(needs).toMatchObject({ needs: [{ resource: { path: ["x", ...(place({ word: text })[0] ?? [])] } }] });
    }),
    { numRuns },
  );
});

test("any text is decided or denied, and a decision names a plain program", () => {
  const noise = fc.array(fc.constantFrom(..."ab -&|;$`'\"\\(){}<>#*?~!=%/.\n\t"), { maxLength: 30 });
  fc.assert(
    fc.property(noise, (characters) => {
      const needs = shellNeeds(characters.join(""));
      const decided = needs.kind === "needs" ? needs.needs : [];
      for (const { resource } of decided) expect(resource.path[0]).toMatch(/^[ab][ab.-]*$/);
    }),
    { numRuns },
  );
});
