import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { anyDatabase } from "../../packages/host/test/databases.ts";
import { readEvents, type EventReader } from "../../packages/host/test/event-streams.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { placeFor, serveArgs } from "../support/effect-host.ts";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { alice, listCall, makeTenant } from "../support/host-world.ts";

/** Follows acme through a host, from a cursor on. */
async function follow(
  { url, operatorToken }: HostProcess,
  cursor?: string,
  token = operatorToken(),
): Promise<EventReader> {
  const headers = { authorization: `Bearer ${token}`, ...(cursor !== undefined && { "last-event-id": cursor }) };
  const response = await fetch(`${url}/admin/v1/events?namespaceId=acme`, { headers });
  expect(response.status).toBe(200);
  return readEvents(response);
}

async function call(host: HostProcess, token: string, id: string): Promise<void> {
  const answer = await ask(host.url, "/v1/tools/invoke", {
    token,
    headers: { "x-trace-id": "t" },
    body: listCall(id, "t"),
  });
  expect(answer.status).toBe(200);
}

/** Every row of the audit log of acme, oldest first. */
async function auditLogOf(host: HostProcess): Promise<string[]> {
  const { body } = await ask(host.url, "/admin/v1/audit?namespaceId=acme&limit=500", { token: host.operatorToken() });
  const { events } = body as { events: { strand: number; sequence: number }[] };
  return events.map(({ strand, sequence }) => `${strand}.${sequence}`).toReversed();
}

for (const kind of anyDatabase) {
  describe(`events on ${kind}`, () => {
    test("a reader whose host is killed continues by cursor at the next one, and misses nothing", async () => {
      const folder = makeFolder();
      const args = serveArgs(await placeFor(kind));
      const host = await startHostProcess({ folder, args });
      const token = await makeTenant(host);
      const before = await auditLogOf(host);
      const stream = await follow(host);
      await stream.next();
      for (const id of ["1", "2", "3"]) await call(host, token, id);
      const heard = (await stream.take("trail", 2)).map(({ strand, sequence }) => `${strand}.${sequence}`);
      const cursor = stream.lastId();
      await host.stop("SIGKILL");
      await expect(stream.take("trail", 100)).rejects.toThrow(/terminated|ended/);

      const again = await startHostProcess({ folder, args });
      for (const id of ["4", "5"]) await call(again, token, id);
      const all = await auditLogOf(again);
      const resumed = await follow(again, cursor);
      const rest = await resumed.take("trail", all.length - before.length - heard.length);
      heard.push(...rest.map(({ strand, sequence }) => `${strand}.${sequence}`));
      expect([...before, ...heard].toSorted()).toEqual(all.toSorted());
      // An open stream does not hold up the end of the host.
      const exit = again.stop("SIGTERM");
      for (;;) if ((await resumed.next()) === undefined) break;
      expect(await exit).toEqual({ code: 0, signal: null });
      expect(again.stderr()).not.toContain('"level":50');
    });
  });
}

for (const row of [
  { name: "revoked", path: "/admin/v1/credentials/revoke" },
  { name: "given another token", path: "/admin/v1/credentials/rotate" },
]) {
  test(`the stream of an operator who is ${row.name} ends, and their next is refused`, async () => {
    const host = await startHostProcess({ folder: makeFolder() });
    const access = { actor: alice, owner: alice, purposes: ["operate"], admin: true, role: "auditor", tenant: "acme" };
    const made = await ask(host.url, "/admin/v1/credentials", {
      token: host.operatorToken(),
      body: { namespaceId: "operators", access },
    });
    const { id, token } = made.body as { id: string; token: string };
    const stream = await follow(host, undefined, token);
    expect(await stream.next()).toEqual({ id: "0.0", event: { kind: "waiting", count: 0 } });
    const other = await ask(host.url, "/admin/v1/events?namespaceId=other", { token });
    expect([other.status, other.body]).toMatchObject([403, { error: { code: "permission_denied" } }]);
    const ended = stream.next();
    await ask(host.url, row.path, { token: host.operatorToken(), body: { id } });
    expect(await ended).toBeUndefined();
    expect((await ask(host.url, "/admin/v1/events?namespaceId=acme", { token })).status).toBe(401);
    expect(await host.stop()).toEqual({ code: 0, signal: null });
  });
}

test("audit list --follow shows what was, then what comes, also from the host that comes next, until it is interrupted", async () => {
  const folder = makeFolder();
  const first = await startHostProcess({ folder });
  const { port } = new URL(first.url);
  const token = await makeTenant(first);
  const args = ["audit", "list", "--follow", "--json", "--tenant", "acme", "--url", first.url];
  const child = spawn(process.execPath, [turnpike, ...args], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  const shown = (): number[] =>
    text
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { sequence: number }).sequence);
  const isShown = (host: HostProcess): Promise<void> =>
    eventually(async () => expect(shown()).toEqual((await auditLogOf(host)).map((name) => Number(name.split(".")[1]))));
  await isShown(first);
  await call(first, token, "1");
  await isShown(first);
  await first.stop("SIGKILL");
  const second = await startHostProcess({ folder, args: ["serve", "--port", port] });
  await call(second, token, "2");
  await isShown(second);
  const exit = once(child, "close");
  child.kill("SIGINT");
  expect(await exit).toEqual([null, "SIGINT"]);
  expect(await second.stop()).toEqual({ code: 0, signal: null });
});

test("audit list --follow ends without a word when the reader of its rows has gone", async () => {
  const host = await startHostProcess({ folder: makeFolder() });
  const token = await makeTenant(host);
  const args = ["audit", "list", "--follow", "--tenant", "acme", "--url", host.url];
  const child = spawn(process.execPath, [turnpike, ...args], { cwd: host.folder, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (complaint += piece));
  await once(child.stdout, "data");
  child.stdout.destroy();
  const exit = once(child, "close");
  await call(host, token, "1");
  expect([await exit, complaint]).toEqual([[141, null], ""]);
  expect(await host.stop()).toEqual({ code: 0, signal: null });
});
