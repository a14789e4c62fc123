import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { runCommand } from "./cli.ts";

vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "tp_operator");
vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
afterEach(() => vi.restoreAllMocks());
afterAll(() => void vi.useRealTimers());

const head = { strand: 0, sequence: 25_000, hash: "a".repeat(64) };

/** A host with an audit log of three parts, before the last of which some time goes by; its address. */
async function startHost(last: object, seconds = 0): Promise<string> {
  const parts = [
    { isWhole: false, rows: 10_000, heads: [], checkpoints: 0, cursor: "1" },
    { isWhole: false, rows: 10_000, heads: [], checkpoints: 0, cursor: "2" },
    { rows: 5000, heads: [head], checkpoints: 3, ...last },
  ];
  const server = createServer((request, response) => {
    const cursor = new URL(request.url ?? "", "http://host").searchParams.get("cursor");
    if (cursor === "2") vi.advanceTimersByTime(seconds * 1000);
    response.end(JSON.stringify(parts[Number(cursor ?? 0)]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What a command says to a person, or to whatever reads its standard error. */
async function run(args: readonly string[], isTTY = true): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((said.out += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((said.err += String(text)), true));
  const before = process.stderr.isTTY;
  process.stderr.isTTY = isTTY;
  try {
    return { code: await runCommand(["audit", "verify", "--tenant", "acme", ...args]), ...said };
  } finally {
    process.stderr.isTTY = before;
  }
}

test("a verification that takes long says on the terminal how far it has come, and takes that back", async () => {
  const { code, out, err } = await run(["--url", await startHost({ isWhole: true }, 1)]);
  const line = err.replace(/\d+ s/, "1 s").replaceAll("\u001b", "ESC");
  expect([code, line]).toEqual([0, "\rESC[KVerifying the audit log of acme ... 20000 rows, 1 s\rESC[K"]);
  expect(out).toContain("The audit log of acme is whole: 25000 rows.\n");
  expect(out).toContain(`Head of strand 0: row 25000, ${"a".repeat(64)}.`);
});

test("a verification that is soon done, or that no person reads, says nothing but its result", async () => {
  expect((await run(["--url", await startHost({ isWhole: true })])).err).toBe("");
  expect((await run(["--url", await startHost({ isWhole: true }, 1)], false)).err).toBe("");
});

test("a verification for a script says nothing but its result, which is that of all parts", async () => {
  const { out, err } = await run(["--url", await startHost({ isWhole: true }, 1), "--json"]);
  expect([err, JSON.parse(out)]).toEqual(["", { isWhole: true, rows: 25_000, heads: [head], checkpoints: 3 }]);
});

test("a break in the last part is a failure", async () => {
  const broken = { strand: 0, sequence: 25_001, why: "row 25001 was changed or removed" };
  const { code, err } = await run(["--url", await startHost({ isWhole: false, broken })]);
  expect([code, err]).toEqual([1, "The audit log of acme is broken: row 25001 was changed or removed.\n"]);
});
