import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { auditEvent } from "../../test/records.ts";
import { followAuditLog } from "./audit-follow.ts";

vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "tp_operator");

function row(sequence: number, changes: Parameters<typeof auditEvent>[1] = {}) {
  return { strand: 0, sequence, event: auditEvent(String(sequence), changes) };
}

function eventText(sequence: number, changes: Parameters<typeof auditEvent>[1] = {}): string {
  return `id: 0.${sequence}\ndata: ${JSON.stringify({ kind: "trail", ...row(sequence, changes) })}\n\n`;
}

const begins = 'id: 0.2\ndata: {"kind":"waiting","count":0}\n\n';

/** A host whose stream says this at each attempt and breaks off, or fails, and whose list has these rows; then it refuses. */
async function startHost(
  attempts: readonly (string | 503)[],
  listed: readonly object[],
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response: ServerResponse) => {
    if (!request.url?.startsWith("/admin/v1/events")) return void response.end(JSON.stringify({ events: listed }));
    const text = attempts[asked.length];
    asked.push(new URL(request.url, "http://host").searchParams.get("cursor") ?? "now");
    if (typeof text === "string") return void response.end(text);
    response.statusCode = text ?? 401;
    response.end('{"error":{"code":"unauthenticated","message":"No."}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function createOutput() {
  const [lines, notes]: [string[], string[]] = [[], []];
  const output = { say: (line: string) => void lines.push(line), note: (line: string) => void notes.push(line) };
  return { lines, notes, output };
}

const flags = { database: "none.db", tenant: "tenant-1", json: true };

test("the newest rows come oldest first, then each that comes once, also behind a connection that broke", async () => {
  const { url, asked } = await startHost(
    [begins + eventText(3) + eventText(4), begins.replace("0.2", "0.4") + eventText(5)],
    [row(3), row(2), row(1)],
  );
  const { lines, output } = createOutput();
  await expect(followAuditLog({ ...flags, url }, output)).rejects.toThrow(
    "Refused (unauthenticated): No.\nSet TURNPIKE_ADMIN_TOKEN, or name the host's database with --database.",
  );
  expect(lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence)).toEqual([1, 2, 3, 4, 5]);
  expect(asked).toEqual(["now", "0.4", "0.5"]);
});

test("a host that is away for a while is said once, besides the rows, and so is that it is back", async () => {
  const { url } = await startHost([begins, 503, 503, eventText(3)], []);
  const { lines, notes, output } = createOutput();
  await expect(followAuditLog({ ...flags, url }, output)).rejects.toThrow("Refused (unauthenticated)");
  expect(notes).toEqual(["The host does not answer. This goes on when it does.", "The host answers again."]);
  expect(lines).toHaveLength(1);
});

test("only rows that fit the flags are shown, as lines for people without what controls a terminal", async () => {
  const denied = { outcome: "denied", reason: "no\u001B[31m" } as const;
  const { url } = await startHost([begins + eventText(3) + eventText(4, denied)], []);
  const { lines, output } = createOutput();
  const people = { database: "none.db", tenant: "tenant-1", url, outcome: "denied", actor: "agent:assistant" };
  await expect(followAuditLog(people, output)).rejects.toThrow("Refused");
  expect(lines).toEqual([
    expect.stringMatching(/^ROW {5}AT +TYPE +OUTCOME +ACTOR +WHAT +WHY +TRACE$/),
    expect.stringMatching(
      /^4 {7}2026-01-01T12:00:00\S* +tool\.invoked +denied +agent:assistant +no<U\+001B>\[31m +trace-1$/,
    ),
  ]);
});

for (const flag of ["until", "cursor"] as const) {
  test(`--${flag} and --follow exclude each other`, async () => {
    const following = followAuditLog({ ...flags, url: "http://127.0.0.1:1", [flag]: "x" }, createOutput().output);
    await expect(following).rejects.toThrow(`--${flag}: expected it or --follow, not both.`);
  });
}
