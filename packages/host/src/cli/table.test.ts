import { describe, expect, test } from "vitest";
import { oneLine, renderTable, withMore } from "./table.ts";

test("columns line up under their headings, and nothing stands behind the last word of a line", () => {
  const table = renderTable(
    ["ID", "STATE", "WHY"],
    [
      ["one", "on", ""],
      ["twenty-two", "", "because"],
      ["", "", ""],
    ],
  );
  expect(table).toBe("ID          STATE  WHY\none         on\ntwenty-two         because\n");
});

test("a table without rows is its headings", () => {
  expect(renderTable(["ID", "STATE"], [])).toBe("ID  STATE");
});

test("a table fits its terminal: the last column is cut, and what is copied never", () => {
  const rows = [["turn-0123456789abcdef", "a reason that is longer than the line"]];
  expect(renderTable(["ID", "NOTE"], rows, 40)).toBe(
    "ID                     NOTE\nturn-0123456789abcdef  a reason that ...",
  );
  expect(renderTable(["ID", "NOTE"], rows, 10)).toBe(
    "ID                     NOTE\nturn-0123456789abcdef  a reason ...",
  );
  expect(renderTable(["ID", "NOTE"], rows)).toContain("longer than the line");
});

test("a cell cannot make a line of its own or widen its column with what is not shown", () => {
  const table = renderTable(
    ["ID", "SAYS"],
    [
      ["a\nb", "ok"],
      ["c", "x\r\ny\u001b[2Jz"],
    ],
  );
  expect(table).toBe("ID   SAYS\na b  ok\nc    x y [2Jz");
});

describe("one line", () => {
  for (const row of [
    { name: "plain words stay", text: "notes/todo.md", shown: "notes/todo.md" },
    { name: "words of any script stay", text: "crème brûlée 跟踪 🙂", shown: "crème brûlée 跟踪 🙂" },
    { name: "spaces stay", text: "  a  b ", shown: "  a  b " },
    { name: "nothing stays nothing", text: "", shown: "" },
    { name: "a line feed", text: "a\nb", shown: "a b" },
    { name: "a carriage return that would write over the line", text: "denied\rallowed", shown: "denied allowed" },
    { name: "several line breaks become one space", text: "a\r\n\r\nb", shown: "a b" },
    { name: "a tab", text: "a\tb", shown: "a b" },
    { name: "a vertical tab and a form feed", text: "a\vb\fc", shown: "a b c" },
    { name: "a backspace", text: "a\bb", shown: "a b" },
    { name: "a bell", text: "a\u0007b", shown: "a b" },
    { name: "NUL", text: "a\0b", shown: "a b" },
    { name: "a colour", text: "\u001b[31mred\u001b[0m", shown: " [31mred [0m" },
    { name: "a title of the window", text: "\u001b]0;owned\u0007", shown: " ]0;owned " },
    { name: "a link", text: "\u001b]8;;http://x\u001b\\here", shown: " ]8;;http://x \\here" },
    { name: "DEL", text: "a\u007fb", shown: "a b" },
    { name: "a control sequence in one character", text: "a\u009b2Jb", shown: "a 2Jb" },
    { name: "the next-line character", text: "a\u0085b", shown: "a b" },
    { name: "line and paragraph separators", text: "a\u2028b\u2029c", shown: "a b c" },
    { name: "a word that would be read from right to left", text: "a\u202egnp.exe", shown: "a gnp.exe" },
    { name: "isolates of a direction", text: "a\u2066b\u2069", shown: "a b " },
    { name: "what has no width", text: "a\u200bb\ufeffc", shown: "a b c" },
    { name: "variation selectors and tags", text: "a\ufe00b\u{e0100}c\u{e0041}d", shown: "a b c d" },
    { name: "letters that fill and show nothing", text: "a\u115fb\u3164c\uffa0d", shown: "a b c d" },
  ]) {
    test(row.name, () => expect(oneLine(row.text)).toBe(row.shown));
  }
});

describe("what comes behind a table", () => {
  test("is nothing without a cursor", () => expect(withMore("ID", undefined)).toBe("ID"));

  test("is how to go on", () => expect(withMore("ID\na", "a")).toBe("ID\na\nThere is more: --cursor a"));

  // A cursor is the id of the last row, and ids may hold anything.
  for (const row of [
    { name: "a line break", cursor: "a\nDENIED" },
    { name: "an escape sequence", cursor: "a\u001b[2J" },
  ]) {
    test(`cannot break out of its line with ${row.name}`, () => {
      const [, ...behind] = withMore("ID", row.cursor).split("\n");
      expect(behind).toHaveLength(1);
      expect(behind[0]).not.toMatch(/\p{Cc}/u);
    });
  }

  test("can be pasted when the cursor holds spaces and what a shell would run", () => {
    expect(withMore("ID", "my $(id) grant")).toBe("ID\nThere is more: --cursor 'my $(id) grant'");
  });
});
