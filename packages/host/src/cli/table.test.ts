import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { visibleText } from "../display/index.ts";
import { type Column, oneLine, renderTable, terminalColumns, withMore } from "./table.ts";
import { textWidth } from "./text-width.ts";

afterEach(() => void vi.unstubAllEnvs());

type Row = readonly string[];

/** Columns of rows that are lists; a number behind the heading says how soon it shrinks. */
function columnsOf(...headings: readonly string[]): Column<Row>[] {
  return headings.map((text, place) => {
    const [heading = "", shrinks] = text.split("/");
    const cut = shrinks === undefined ? {} : { shrinks: Number(shrinks) as 1 | 2 | 3 };
    return { heading, value: (row) => row[place] ?? "", ...cut };
  });
}

test("columns line up under their headings, and nothing is behind the last word of a line", () => {
  const rows = [
    ["one", "on", ""],
    ["twenty-two", "", "because"],
    ["", "", ""],
  ];
  const table = renderTable(columnsOf("ID", "STATE", "WHY"), rows);
  expect(table).toBe("ID          STATE  WHY\none         on\ntwenty-two         because\n");
});

test("a table without rows is its headings", () => {
  expect(renderTable(columnsOf("ID", "STATE"), [])).toBe("ID  STATE");
});

test("columns line up behind characters that are shown wider or narrower than one", () => {
  const rows = [
    ["读取文件", "on"],
    ["crème🙂", "off"],
  ];
  expect(renderTable(columnsOf("ID", "STATE"), rows)).toBe("ID        STATE\n读取文件  on\ncrème🙂   off");
});

describe("a table fits its terminal", () => {
  const columns = columnsOf("ID", "NOTE/2", "WHO/1");
  const rows = [["turn-0123456789abcdef", "a reason that is longer than the line", "human:operator-known"]];
  for (const { name, width, lines } of [
    {
      name: "as it is when there is room",
      width: 82,
      lines: [
        "ID                     NOTE                                   WHO",
        "turn-0123456789abcdef  a reason that is longer than the line  human:operator-known",
      ],
    },
    {
      name: "with the column cut that shrinks first",
      width: 81,
      lines: [
        "ID                     NOTE                                  WHO",
        "turn-0123456789abcdef  a reason that is longer than the ...  human:operator-known",
        "1 value is cut to fit: --json shows all.",
      ],
    },
    {
      name: "with the next one cut when that is not enough",
      width: 52,
      lines: [
        "ID                     NOTE          WHO",
        "turn-0123456789abcdef  a reason ...  human:operat...",
        "2 values are cut to fit: --json shows all.",
      ],
    },
    {
      name: "on two lines when all that can be cut is cut, and what is copied is whole",
      width: 40,
      lines: [
        "ID                     NOTE",
        "  WHO",
        "turn-0123456789abcdef  a reason that ...",
        "  human:operator-known",
        "1 value is cut to fit: --json shows all.",
      ],
    },
    {
      name: "with what is wider than the terminal on lines of its own",
      width: 20,
      lines: [
        ..."ID|  NOTE|  WHO|turn-0123456789abc|def|  a reason that i...|  human:operator-...".split("|"),
        ..."2 values are cut to |fit: --json shows al|l.".split("|"),
      ],
    },
  ]) {
    test(name, () => expect(renderTable(columns, rows, width).split("\n")).toEqual(lines));
  }

  test("without columns and lines that say nothing", () => {
    const some = columnsOf("ID", "NOTE", "TERMS", "PARENT");
    const chain = [
      ["turn-0123456789abcdef", "a".repeat(30), "", ""],
      ["turn-0123456789abcdee", "b".repeat(30), "", "turn-1"],
    ];
    expect(renderTable(some, chain, 60).split("\n")).toEqual([
      "ID                     NOTE",
      "  PARENT",
      `turn-0123456789abcdef  ${"a".repeat(30)}`,
      `turn-0123456789abcdee  ${"b".repeat(30)}`,
      "  turn-1",
    ]);
  });

  test("whatever is in it, and nothing that is copied is cut", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme", maxLength: 70 }), fc.string({ maxLength: 70 }));
    const table = fc.record({
      shrinks: fc.array(fc.constantFrom("", "/1", "/2", "/3"), { minLength: 1, maxLength: 9 }),
      rows: fc.array(fc.array(text, { minLength: 9, maxLength: 9 }), { maxLength: 4 }),
      width: fc.integer({ min: 60, max: 200 }),
    });
    fc.assert(
      fc.property(table, ({ shrinks, rows: given, width }) => {
        const some = columnsOf(...shrinks.map((shrink, place) => `HEADING ${place}${shrink}`));
        const rendered = renderTable(some, given, width);
        for (const line of rendered.split("\n")) expect(textWidth(line)).toBeLessThanOrEqual(width);
        const copied = given.flatMap((row) => row.filter((_, place) => shrinks[place] === ""));
        const whole = copied.map((cell) => visibleText(cell)).filter((cell) => textWidth(cell) <= width - 2);
        for (const cell of whole) expect(rendered).toContain(cell);
      }),
    );
  });
});

describe("how wide the terminal is", () => {
  test("COLUMNS says it, wherever the output goes", () => {
    vi.stubEnv("COLUMNS", "72");
    expect(terminalColumns()).toBe(72);
    const [, row] = renderTable(columnsOf("ID", "NOTE/1"), [["a", "b".repeat(99)]]).split("\n");
    expect(row).toHaveLength(72);
  });

  for (const nonsense of ["", "0", "-3", "wide", "1.5"]) {
    test(`COLUMNS=${nonsense} says nothing`, () => {
      vi.stubEnv("COLUMNS", nonsense);
      expect(terminalColumns()).toBe(process.stdout.columns);
    });
  }

  test("where no person reads, every value is whole", () => {
    vi.stubEnv("COLUMNS", undefined);
    if (process.stdout.columns !== undefined) return;
    expect(renderTable(columnsOf("ID", "NOTE/1"), [["a", "b".repeat(999)]])).toContain("b".repeat(999));
  });
});

test("a cell cannot make a line of its own, and nothing in it is hidden", () => {
  const rows = [
    ["a\nb", "ok"],
    ["c", "x\r\ny\u001b[2Jz"],
  ];
  expect(renderTable(columnsOf("ID", "SAYS"), rows)).toBe(
    "ID          SAYS\na<U+000A>b  ok\nc           x<U+000D><U+000A>y<U+001B>[2Jz",
  );
});

describe("one line", () => {
  for (const row of [
    { name: "plain words stay", text: "notes/todo.md", shown: "notes/todo.md" },
    { name: "words of any script stay", text: "crème brûlée 跟踪 🙂", shown: "crème brûlée 跟踪 🙂" },
    { name: "spaces stay", text: "  a  b", shown: "  a  b" },
    { name: "nothing stays nothing", text: "", shown: "" },
    { name: "a line feed", text: "a\nb", shown: "a b" },
    { name: "a carriage return that would write over the line", text: "denied\rallowed", shown: "denied allowed" },
    { name: "several line breaks become one space", text: "a\r\n\r\nb", shown: "a b" },
    { name: "a tab", text: "a\tb", shown: "a b" },
    { name: "a vertical tab and a form feed", text: "a\vb\fc", shown: "a b c" },
    { name: "a backspace", text: "a\bb", shown: "a<U+0008>b" },
    { name: "a bell", text: "a\u0007b", shown: "a<U+0007>b" },
    { name: "NUL", text: "a\0b", shown: "a<U+0000>b" },
    { name: "a colour", text: "\u001b[31mred\u001b[0m", shown: "<U+001B>[31mred<U+001B>[0m" },
    { name: "a title of the window", text: "\u001b]0;owned\u0007", shown: "<U+001B>]0;owned<U+0007>" },
    { name: "a link", text: "\u001b]8;;http://x\u001b\\here", shown: "<U+001B>]8;;http://x<U+001B>\\here" },
    { name: "DEL", text: "a\u007fb", shown: "a<U+007F>b" },
    { name: "a control sequence in one character", text: "a\u009b2Jb", shown: "a<U+009B>2Jb" },
    { name: "the next-line character", text: "a\u0085b", shown: "a b" },
    { name: "line and paragraph separators", text: "a\u2028b\u2029c", shown: "a b c" },
    { name: "a word that would be read from right to left", text: "a\u202egnp.exe", shown: "a<U+202E>gnp.exe" },
    { name: "isolates of a direction", text: "a\u2066b\u2069", shown: "a<U+2066>b<U+2069>" },
    { name: "what has no width", text: "a\u200bb\ufeffc", shown: "a<U+200B>b<U+FEFF>c" },
    {
      name: "variation selectors and tags",
      text: "a\ufe00b\u{e0100}c\u{e0041}d",
      shown: "a<U+FE00>b<U+E0100>c<U+E0041>d",
    },
    {
      name: "letters that fill and show nothing",
      text: "a\u115fb\u3164c\uffa0d",
      shown: "a<U+115F>b<U+3164>c<U+FFA0>d",
    },
  ]) {
    test(row.name, () => expect(oneLine(row.text)).toBe(row.shown));
  }
});

describe("what comes behind a table", () => {
  test("is nothing without a cursor", () => expect(withMore("ID", undefined)).toBe("ID"));

  test("is how to read on", () => expect(withMore("ID\na", "a")).toBe("ID\na\nThere is more: --cursor a"));

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
