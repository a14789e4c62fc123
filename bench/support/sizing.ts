import { markdownTable } from "./tables.ts";

/** A row of a table of the results, by the names of its columns. */
type Row = Readonly<Record<string, string>>;

/**
 * Puts what the benchmarks measured into the page about sizing: between `<!-- measured: rates -->` and `<!-- end -->` is
 * what is made here, so the page can say nothing else than the results.
 */
export function withMeasured(page: string, results: string): string {
  const made: Readonly<Record<string, (results: string) => string>> = {
    machine,
    rates,
    floor,
    growth,
    memory,
    waiting,
    large,
  };
  return page.replaceAll(
    /(<!-- measured: (\w+) -->\n)[^]*?(\n<!-- end -->)/g,
    (_, begin: string, name: string, end) => {
      const make = made[name];
      if (make === undefined)
        throw new Error(`The page wants "${name}", and there are ${Object.keys(made).join(", ")}.`);
      return `${begin}\n${make(results)}\n${end}`;
    },
  );
}

const requests = ["authorize", "tools/invoke", "turn, one call"];

function machine(results: string): string {
  const [, date = "", hardware = ""] = /^- (\d{4}-\d\d-\d\d)\n- (.+)$/m.exec(results) ?? [];
  const [, sync = ""] = /One sync of this disk takes ([\d.]+ ms)/.exec(results) ?? [];
  if (date === "" || sync === "") throw new Error("The results do not say when and on what they were measured.");
  return `Measured ${date} on ${hardware}. One sync of its disk takes ${sync}.`;
}

/** A cell of the host's table, by request, server and connections. */
function loadCells(results: string): (request: string, server: string, connections: string) => Row {
  const rows = rowsOf(results, "The host against a bare node:http server");
  return (request, server, connections) =>
    only(rows, (row) => row["request"] === request && row["server"] === server && row["connections"] === connections);
}

function rates(results: string): string {
  const cell = loadCells(results);
  return markdownTable(
    ["one host", "database", "calls/s", "p99 ms", "alone, p50 ms", "calls/s of one core"],
    requests.flatMap((request) =>
      ["SQLite", "PostgreSQL"].map((server) => {
        const [busy, alone] = [cell(request, server, "32"), cell(request, server, "1")];
        const core = Math.round(1e6 / numberOf(busy["CPU µs"])).toLocaleString("en-US");
        return [request, server, text(busy["requests/s"]), text(busy["p99 ms"]), text(alone["p50 ms"]), core];
      }),
    ),
  );
}

/** What keeping alone costs, beside the host that does. */
function floor(results: string): string {
  const cell = loadCells(results);
  return markdownTable(
    ["32 at once, bare = 1", "rate, keeping alone", "rate, host", "CPU, keeping alone", "CPU, host"],
    requests.map((request) => {
      const both = ["keeping", "SQLite"].map((server) => cell(request, server, "32"));
      const of = (column: string): string[] => both.map((row) => text(row[column]));
      return [request, ...of("rate x bare"), ...of("CPU x bare")];
    }),
  );
}

function growth(results: string): string {
  const rows = rowsOf(results, "How a database grows");
  const bytes = (request: string, database: string): number =>
    numberOf(only(rows, (row) => row["request"] === request && row["database"] === database)["bytes a call"]);
  return markdownTable(
    ["MB that 1,000 calls leave", "SQLite", "PostgreSQL"],
    requests.map((request) => {
      const sizes = ["SQLite", "PostgreSQL"].map((database) => bytes(request, database) / 1000);
      return [request, ...sizes.map((size) => size.toFixed(1))];
    }),
  );
}

function memory(results: string): string {
  const rows = rowsOf(results, "What a host needs");
  return markdownTable(
    ["what", "SQLite", "PostgreSQL"],
    rows.map((row) => [row["what"], row["SQLite"], row["PostgreSQL"]].map(text)),
  );
}

function waiting(results: string): string {
  const rows = rowsOf(results, "10,000 that wait for an answer, beside DBOS").filter((row) =>
    row["what"]?.startsWith("turns"),
  );
  return markdownTable(
    [
      "10,000 turns that wait",
      "RSS of a new process, MiB",
      "heap each, KiB",
      "of a core",
      "ms from answer to next line",
    ],
    rows.map((row) =>
      [
        row["what"],
        row["RSS, new process"],
        row["heap KiB each"],
        row["CPU waiting"],
        row["ms from answer to next line"],
      ].map(text),
    ),
  );
}

/** What operators wait for on a database with a million audit rows. */
function large(results: string): string {
  const databases = ["SQLite", "PostgreSQL"].map((name) => rowsOf(results, `Commands on a large database, ${name}`));
  const commands = [
    "grant list",
    "audit list",
    "audit list --actor, one of many",
    "audit list --type --outcome, both common, none",
    "audit verify",
  ];
  return markdownTable(
    ["with a million audit rows", "SQLite, ms", "PostgreSQL, ms"],
    commands.map((command) => [
      command,
      ...databases.map((rows) => text(only(rows, (row) => row["command"] === command)["ms"])),
    ]),
  );
}

/** The rows of the table below a heading of the results. */
function rowsOf(results: string, title: string): Row[] {
  const [, below = ""] = results.split(`\n## ${title}\n`);
  const lines = below.split("\n## ")[0]?.match(/^\|.*\|$/gm) ?? [];
  const [head = [], , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
  if (rows.length === 0) throw new Error(`The results have no table "${title}".`);
  return rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column] ?? ""])));
}

function only(rows: readonly Row[], isIt: (row: Row) => boolean): Row {
  const [found, another] = rows.filter(isIt);
  if (found === undefined || another !== undefined) throw new Error("The results have not exactly one such row.");
  return found;
}

function numberOf(cell: string | undefined): number {
  return Number(text(cell).replaceAll(",", ""));
}

function text(cell: string | undefined): string {
  if (cell === undefined || cell === "") throw new Error("The results lack a number that the page about sizing shows.");
  return cell;
}
