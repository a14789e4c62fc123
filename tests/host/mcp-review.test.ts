import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ask } from "../../packages/host/test/host-calls.ts";
import { testServer } from "../../packages/host/test/mcp/servers.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { listCall, makeGrant, makeTenant } from "../support/host-world.ts";
import { command, words } from "../support/terminal.ts";

/** A host whose server has changed `echo` and removed `sum` since its tools were pinned. */
async function startChanged(): Promise<{ host: HostProcess; names(): Promise<string[]>; call(tool: string): unknown }> {
  const folder = makeFolder();
  const servers = { notes: { command: testServer() } };
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers } }));
  const host = await startHostProcess({ folder });
  const token = await makeTenant(host);
  await makeGrant(host, { id: "mcp", resource: "mcp.notes", actions: ["call"] });
  await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["mcp.notes"] } });
  const names = async (): Promise<string[]> => {
    const { body } = await ask(host.url, "/v1/tools", { token });
    const all = (body as { name: string }[]).map(({ name }) => name);
    return all.filter((name) => /^mcp\.notes\.(echo|sum|issue)$/.test(name));
  };
  let calls = 0;
  const call = async (tool: string): Promise<unknown> => {
    calls += 1;
    const body = { ...listCall(`call-${calls}`, "trace-1"), tool: `mcp.notes.${tool}`, arguments: { words: "a" } };
    return (await ask(host.url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "trace-1" }, body })).body;
  };
  expect(await names()).toEqual(["mcp.notes.echo", "mcp.notes.issue", "mcp.notes.sum"]);
  expect(await call("change")).toMatchObject({ status: "succeeded" });
  return { host, names, call };
}

let changed: Awaited<ReturnType<typeof startChanged>>;
beforeAll(async () => void (changed = await startChanged()));

describe("a server that changed a tool", () => {
  test("does not offer it, a call is refused, and the log says once why", async () => {
    const { host, names, call } = changed;
    for (let time = 0; time < 3; time += 1) expect(await names()).toEqual(["mcp.notes.issue"]);
    expect(await call("echo")).toMatchObject({ error: { code: "tool_unavailable" } });
    expect(await call("issue")).toMatchObject({ status: "succeeded" });
    const said = () =>
      host
        .stderr()
        .split("\n")
        .filter((line) => line.includes("withdrawn until an operator accepts"));
    const why = '"withdrawn":[{"tool":"echo","why":"it is not what was accepted"}]';
    await expect.poll(said).toEqual([expect.stringContaining(why)]);
  });

  test("is listed with the states of its tools", async () => {
    const { code, stdout } = await command(changed.host, words`mcp review`);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^SERVER +TOOL +STATE +ACCEPTED +BY\nnotes +change +pinned +\S+Z +service:host\n/);
    expect(stdout).toMatch(/^notes +echo +changed /m);
    expect(stdout).toMatch(/^notes +sum +gone /m);
    expect(stdout).toMatch(/\necho of notes changed, and is withdrawn since \S+Z: turnpike mcp review notes\n$/);
    const { stdout: json } = await command(changed.host, words`mcp review --json`);
    const { servers } = JSON.parse(json) as { servers: { tools: { tool: string; withdrawnAt?: string }[] }[] };
    expect(servers).toMatchObject([{ server: "notes", isAvailable: true }]);
    expect(servers[0]?.tools.flatMap(({ tool, withdrawnAt }) => (withdrawnAt === undefined ? [] : tool))).toEqual([
      "echo",
    ]);
  });

  test("is accepted as it was shown, and offered again", async () => {
    const { host, names, call } = changed;
    const shown = await command(host, words`mcp review notes`);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toContain(`  inputSchema.properties.sentence.type
    + string
  inputSchema.properties.words.type
    - string
  inputSchema.required.0
    - words
`);
    const [, accept = ""] = /^ {2}turnpike (mcp review notes .*)$/m.exec(shown.stdout) ?? [];
    const stale = accept.replace(/@\w+/, "@0000000000000000").split(" ");
    expect(await command(host, stale)).toMatchObject({
      code: 1,
      stderr:
        "Nothing was accepted: echo is not what was shown any more. Check again with: turnpike mcp review notes\n",
    });
    expect(await names()).toEqual(["mcp.notes.issue"]);
    const accepted = await command(host, accept.split(" "));
    expect(accepted).toMatchObject({ code: 0, stdout: expect.stringMatching(/\n\nAccepted: echo\.\n$/) as string });
    expect(await names()).toEqual(["mcp.notes.echo", "mcp.notes.issue"]);
    expect(await call("echo")).not.toMatchObject({ error: { code: "tool_unavailable" } });
    expect((await command(host, words`mcp review notes`)).stdout).toBe("No tool of notes is withdrawn.\n");
    expect(await command(host, words`mcp review notes --accept`)).toMatchObject({
      code: 1,
      stderr: "There is nothing to accept: the tools of notes are what was accepted.\n",
    });
  });

  test("has who accepted what on the operators' audit log", async () => {
    const { stdout } = await command(changed.host, words`audit list --tenant operators --json`);
    const { events } = JSON.parse(stdout) as { events: { event: { action?: string; outcome: string } }[] };
    const changes = events.flatMap(({ event: { action = "", outcome } }) =>
      action.startsWith("mcp.") ? [`${action} ${outcome}`] : [],
    );
    expect(changes.toReversed()).toEqual([
      "mcp.pin allowed",
      "mcp.pin succeeded",
      "mcp.withdraw allowed",
      "mcp.withdraw succeeded",
      "mcp.accept allowed",
      "mcp.accept succeeded",
    ]);
  });
});

describe("the command", () => {
  for (const row of [
    { name: "a server first", args: words`mcp review --accept`, code: 2, says: /^Name the server before --accept/ },
    {
      name: "hashes that are some",
      args: words`mcp review notes --accept echo@12`,
      code: 2,
      says: /^--accept echo@12: expected a tool, or a tool@hash/,
    },
    { name: "a server that there is", args: words`mcp review other`, code: 1, says: /^Refused \(not_found\)/ },
    {
      name: "a tool that is withdrawn",
      args: words`mcp review notes --accept issue`,
      code: 1,
      says: /^Nothing was accepted: issue has nothing to accept/,
    },
  ]) {
    test(`needs ${row.name}`, async () => {
      const printed = await command(changed.host, row.args);
      expect([printed.code, printed.stderr]).toEqual([row.code, expect.stringMatching(row.says)]);
    });
  }
});
