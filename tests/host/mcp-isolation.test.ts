import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ask } from "../../packages/host/test/host-calls.ts";
import { makeFolder, runTurnpike, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { listCall, makeGrant, makeTenant } from "../support/host-world.ts";

const reader = readFileSync(fileURLToPath(new URL("../support/mcp/reader.js", import.meta.url)), "utf8");
const command = [process.execPath, "-e", reader];
const isRoot = process.getuid?.() === 0;
const unprivileged = { uid: 65_534, gid: 65_534 };

/** A folder that every user may enter, with this server in its configuration. */
function folderWith(server: object): string {
  const folder = makeFolder();
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers: { reader: server } } }));
  return folder;
}

interface Seen {
  uid: number;
  gid: number;
  groups: number[];
  folder: string;
  files: string[];
}

/** What the server of a host can read. */
async function inspect(host: HostProcess): Promise<Seen> {
  const token = await makeTenant(host);
  await makeGrant(host, { id: "look", resource: "mcp.reader", actions: ["call"] });
  await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["mcp.reader"] } });
  const paths = ["admin-token", "turnpike.db"].map((name) => join(host.folder, ".turnpike", name));
  const { body } = await ask(host.url, "/v1/tools/invoke", {
    token,
    headers: { "x-trace-id": "trace-1" },
    body: { ...listCall("call-1", "trace-1"), tool: "mcp.reader.look", arguments: { paths } },
  });
  const { output } = body as { output: { content: [{ text: string }] } };
  return JSON.parse(output.content[0].text) as Seen;
}

const warning =
  "The MCP server reader runs as the host's own user: it could read the operator's token and the database. " +
  "Give it a uid and gid of its own, or run it in a container.";

describe("a stdio server", () => {
  test("as the host's own user can read the operator's token and the database, and serve and doctor say so", async () => {
    const folder = folderWith({ command });
    const host = await startHostProcess({ folder });
    const { files } = await inspect(host);
    expect(files[0]).toBe(`${host.operatorToken()}\n`);
    expect(files[1]).toMatch(/^SQLite format 3/);
    // Once: the log says it, and not the screen as well.
    expect(host.stdout()).not.toContain(warning);
    await host.stop();
    expect(host.stderr()).toContain(`"level":40`);
    expect(host.stderr()).toContain(`"server":"reader","msg":"${warning}"`);
    const doctor = await runTurnpike({ folder, args: ["doctor", "--port", "0"] });
    expect(doctor).toMatchObject({ code: 0, stdout: expect.stringContaining(`WARN mcp: ${warning}\n`) as string });
  });

  test("as another user cannot read either, is in no group of the host's, and nothing is said about it", async () => {
    const folder = folderWith({ command, ...unprivileged });
    // Only root can start a program as another user; for others the host says so and does not start.
    const seen = isRoot ? await seenIn(folder) : await startHostProcess({ folder }).catch(String);
    const refused = expect.stringContaining(
      "mcp.servers.reader.uid: a server cannot be started as user 65534",
    ) as string;
    expect(seen).toEqual(
      isRoot ? { ...unprivileged, groups: [unprivileged.gid], files: ["EACCES", "EACCES"] } : refused,
    );
  });

  async function seenIn(folder: string): Promise<Omit<Seen, "folder">> {
    const host = await startHostProcess({ folder });
    const { folder: own, ...seen } = await inspect(host);
    expect(host.stdout()).not.toContain("Warning");
    expect(statSync(own)).toMatchObject(unprivileged);
    await host.stop();
    expect(existsSync(own)).toBe(false);
    return seen;
  }

  test("finds a data folder that is closed to other users, and files that are", async () => {
    const host = await startHostProcess({ folder: folderWith({ command }) });
    const data = join(host.folder, ".turnpike");
    expect(statSync(data).mode & 0o777).toBe(0o700);
    const modes = readdirSync(data).map((name) => [name, statSync(join(data, name)).mode & 0o777]);
    expect(modes).toEqual(modes.map(([name]) => [name, 0o600]));
    expect(modes.map(([name]) => name)).toEqual(expect.arrayContaining(["admin-token", "turnpike.db"]));
  });
});

describe("a host without a token file", () => {
  const args = ["serve", "--port", "0", "--no-token-file"];
  const shown = ({ stdout }: HostProcess): string | undefined => /TURNPIKE_ADMIN_TOKEN=(\S+)/.exec(stdout())?.[1];
  const listCredentials = ({ url, folder }: HostProcess, token?: string) =>
    runTurnpike({
      folder,
      args: ["credential", "list", "--url", url],
      env: token === undefined ? {} : { TURNPIKE_ADMIN_TOKEN: token },
    });

  test("shows the token once, which the commands take from the environment, and writes it nowhere", async () => {
    const folder = makeFolder();
    const first = await startHostProcess({ folder, args });
    const token = shown(first) ?? "";
    expect(token).toMatch(/^tp_/);
    expect(await listCredentials(first, token)).toMatchObject({ code: 0 });
    expect(await listCredentials(first)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no operator's token: set TURNPIKE_ADMIN_TOKEN") as string,
    });
    await first.stop();
    expect(first.stderr()).not.toContain(token);
    for (const name of readdirSync(join(folder, ".turnpike"))) {
      expect(readFileSync(join(folder, ".turnpike", name), "latin1")).not.toContain(token.split("_")[2]);
    }

    const second = await startHostProcess({ folder, args });
    expect(shown(second)).toBeUndefined();
    expect(second.stdout()).toContain("--new-operator-token");
    expect(await listCredentials(second, token)).toMatchObject({ code: 0 });
    await second.stop();

    const third = await startHostProcess({ folder, args: [...args, "--new-operator-token"] });
    expect(await listCredentials(third, token)).toMatchObject({ code: 1 });
    expect(await listCredentials(third, shown(third))).toMatchObject({ code: 0 });
  });

  test("removes the file from before and says that its token is revoked", async () => {
    const folder = makeFolder();
    const before = await startHostProcess({ folder });
    const token = before.operatorToken();
    await before.stop();
    const host = await startHostProcess({ folder, args });
    expect(existsSync(join(folder, ".turnpike", "admin-token"))).toBe(false);
    expect(host.stdout()).toContain(".turnpike/admin-token is removed, and the token in it is revoked.");
    expect(await listCredentials(host, token)).toMatchObject({ code: 1 });
    expect(await listCredentials(host, shown(host))).toMatchObject({ code: 0 });
  });

  test("that could not start has made no token that no one saw", async () => {
    const folder = makeFolder();
    const other = await startHostProcess({ folder: makeFolder() });
    const { port } = new URL(other.url);
    expect(await runTurnpike({ folder, args: ["serve", "--port", port, "--no-token-file"] })).toMatchObject({
      code: 1,
    });
    expect(shown(await startHostProcess({ folder, args }))).toMatch(/^tp_/);
  });

  test("is no demo", async () => {
    expect(await runTurnpike({ folder: makeFolder(), args: ["serve", "--demo", "--no-token-file"] })).toMatchObject({
      code: 2,
      stderr: "The demo stores its tokens in files. Start it without --no-token-file (admin.tokenFile).\n",
    });
  });
});
