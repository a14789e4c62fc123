import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { runCommand } from "./cli.ts";

vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "tp_operator");
afterEach(() => vi.restoreAllMocks());

const head = { strand: 0, sequence: 25_000, hash: "a".repeat(64) };

/** A host with a trail of three parts; its address. */
async function startHost(last: object): Promise<string> {
  const parts = [
    { isWhole: false, rows: 10_000, heads: [], checkpoints: 0, cursor: "1" },
    { isWhole: false, rows: 10_000, heads: [], checkpoints: 0, cursor: "2" },
    { rows: 5000, heads: [head], checkpoints: 3, ...last },
  ];
  const server = createServer((request, response) => {
    const cursor = new URL(request.url ?? "", "http://host").searchParams.get("cursor");
    response.end(JSON.stringify(parts[Number(cursor ?? 0)]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What a command says while each look at the clock finds it so many milliseconds later. */
async function run(args: readonly string[], stepMs: number): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((said.out += String(text)), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((said.err += String(text)), true));
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += stepMs));
  return { code: await runCommand(["audit", "verify", "--tenant", "acme", ...args]), ...said };
}

test("a verification that takes long says on standard error how far it has come", async () => {
  const url = await startHost({ isWhole: true });
  const { code, out, err } = await run(["--url", url], 1000);
  expect([code, err]).toEqual([0, "10000 rows verified so far.\n20000 rows verified so far.\n"]);
  expect(out).toContain("The audit trail of acme is whole: 25000 rows.\n");
  expect(out).toContain(`Head of strand 0: row 25000, ${"a".repeat(64)}.`);
});

test("a verification that is soon done says nothing but its result", async () => {
  const { err } = await run(["--url", await startHost({ isWhole: true })], 1);
  expect(err).toBe("");
});

test("a verification for a script says nothing but its result, which is that of all parts", async () => {
  const { out, err } = await run(["--url", await startHost({ isWhole: true }), "--json"], 1000);
  expect([err, JSON.parse(out)]).toEqual(["", { isWhole: true, rows: 25_000, heads: [head], checkpoints: 3 }]);
});

test("a break in the last part is a failure", async () => {
  const broken = { strand: 0, sequence: 25_001, why: "row 25001 was changed or removed" };
  const { code, err } = await run(["--url", await startHost({ isWhole: false, broken })], 1);
  expect([code, err]).toEqual([1, "The audit trail of acme is broken: row 25001 was changed or removed.\n"]);
});
