import { describe, expect, test } from "vitest";
import { anyDatabase } from "../../packages/host/test/databases.ts";
import { ask, type Answer } from "../../packages/host/test/host-calls.ts";
import { placeFor, serveArgs } from "../support/effect-host.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { command, commandWith, words } from "../support/terminal.ts";

interface Made {
  id: string;
  token: string;
}

const operator = { kind: "human", userId: "olga" };
const access = { actor: operator, owner: operator, purposes: ["operate"], admin: true };

/** The code of the link on a screen, or of what a command printed. */
function codeIn(text: string): string {
  return /\/console\/#code=([0-9a-f_]+)\n/.exec(text)?.[1] ?? "";
}

function begin({ url }: HostProcess, body: object): Promise<Answer> {
  return ask(url, "/admin/v1/sessions", { body });
}

/** Both halves of the session that was begun, as the page sends them. */
function halvesOf({ headers, body }: Answer): Record<string, string> {
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  return { cookie, "x-turnpike-console": (body as { pageSecret: string }).pageSecret };
}

async function statusOf(
  { url }: HostProcess,
  headers: Record<string, string>,
  path = "/admin/v1/session",
): Promise<number> {
  return (await ask(url, path, { headers })).status;
}

async function post({ url, operatorToken }: HostProcess, path: string, body: object): Promise<unknown> {
  return (await ask(url, path, { token: operatorToken(), body })).body;
}

describe.each(anyDatabase)("the console of a host on %s", (kind) => {
  test("is opened by the link of the demo, once, with changes for the page alone and for the management API alone", async () => {
    const host = await startHostProcess({ folder: makeFolder(), args: serveArgs(await placeFor(kind), "--demo") });
    expect(host.stdout()).toMatch(
      /^Turnpike runs at (\S+)\n {2}console \1\/console\/#code=[0-9a-f]{16}_[0-9a-f]{32}\n {4}This link signs you in/,
    );
    const code = codeIn(host.stdout());
    const both = await Promise.all([begin(host, { code }), begin(host, { code })]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 401]);
    const first = both.find(({ status }) => status === 201);
    expect(first?.body).toMatchObject({ operator: { role: "admin" }, host: { isDemo: true } });
    expect(first?.body).not.toHaveProperty("operator.tenant");
    const halves = first === undefined ? {} : halvesOf(first);
    const { cookie = "" } = halves;

    expect(await statusOf(host, halves)).toBe(200);
    expect(await statusOf(host, { cookie })).toBe(401);
    expect(await statusOf(host, halves, "/admin/v1/grants?namespaceId=demo")).toBe(200);
    expect(await statusOf(host, halves, "/metrics")).toBe(200);
    for (const path of ["/v1/tools", "/v1/reach", "/mcp", "/access/v1/evaluation"])
      expect([path, await statusOf(host, halves, path)]).toEqual([path, 401]);

    const revoke = { namespaceId: "demo", id: "bob-shared" };
    const change = (headers: Record<string, string>) =>
      ask(host.url, "/admin/v1/grants/revoke", { body: revoke, headers });
    expect((await change({ cookie })).status).toBe(401);
    expect((await change({ ...halves, origin: "http://evil.example" })).status).toBe(403);
    expect((await change({ ...halves, origin: host.url })).status).toBe(200);
    expect(await host.stop("SIGINT")).toEqual({ code: 0, signal: null });
  });

  test("retains a session when the host is killed, and ends it with the operator's credential at the next request", async () => {
    const folder = makeFolder();
    const args = serveArgs(await placeFor(kind));
    const killed = await startHostProcess({ folder, args });
    const { id, token } = (await post(killed, "/admin/v1/credentials", {
      namespaceId: "operators",
      access,
    })) as Made;
    const code = ((await ask(killed.url, "/admin/v1/codes", { token, body: {} })).body as { code: string }).code;
    const headers = halvesOf(await begin(killed, { code }));
    expect(await statusOf(killed, headers)).toBe(200);
    await killed.stop("SIGKILL");

    const host = await startHostProcess({ folder, args });
    expect((await begin(host, { code })).status).toBe(401);
    const session = await ask(host.url, "/admin/v1/session", { headers });
    expect(session.body).toMatchObject({ operator: { id, actor: operator }, host: { isDemo: false } });
    expect(await post(host, "/admin/v1/credentials/revoke", { id })).toEqual({ revoked: id });
    expect(await statusOf(host, headers)).toBe(401);
    await host.stop();
  });
});

test("the screen has a command, as it is pasted, that prints a link that signs in once, and JSON for scripts", async () => {
  const host = await startHostProcess({ folder: makeFolder() });
  expect(host.stdout()).toContain(`  console ${host.url}/console   This prints a link that signs you in:\n`);
  const [, line = ""] = /^ {4}npx turnpike (.*)$/m.exec(host.stdout()) ?? [];
  const printed = await commandWith(host.folder, line.split(" "));
  expect(printed).toMatchObject({ code: 0, stderr: "" });
  expect(printed.stdout).toMatch(
    /^http:\/\/\S+\/console\/#code=\S+\nIt signs one browser in as you, once, until \S+Z\.\n$/,
  );
  const code = codeIn(printed.stdout);
  expect([(await begin(host, { code })).status, (await begin(host, { code })).status]).toEqual([201, 401]);
  const json = JSON.parse((await command(host, words`console --json`)).stdout) as { code: string; url: string };
  expect(json).toEqual({
    code: json.code,
    url: `${host.url}/console/#code=${json.code}`,
    expiresAt: expect.stringMatching(/Z$/),
  });
});

test("the page is served to every browser, from its built files, over a real socket", async () => {
  const { url } = await startHostProcess({ folder: makeFolder() });
  const root = await fetch(`${url}/`, { headers: { accept: "text/html" }, redirect: "manual" });
  expect([root.status, root.headers.get("location")]).toEqual([303, "/console"]);
  const page = await ask(url, "/console/demo/now");
  expect([page.status, page.headers.get("cache-control")]).toEqual([200, "no-cache"]);
  const assets = [...page.text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(assets.length).toBeGreaterThan(1);
  for (const path of assets) {
    const { status, headers, text } = await ask(url, path);
    expect([path, status, headers.get("cache-control"), headers.get("content-encoding"), text === ""]).toEqual([
      path,
      200,
      "public, max-age=31536000, immutable",
      "gzip",
      false,
    ]);
  }
  expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=/);
});
