import { describe, expect, test } from "vitest";
import { anyDatabase } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { placeFor, serveArgs } from "../support/effect-host.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { command, commandJson, said, steady, words } from "../support/terminal.ts";

interface Credential {
  id: string;
  access: { actor: { agentId?: string } };
}

interface Turn {
  state: { executionId: string; status: string; result?: { output?: unknown; error?: { code: string } } };
}

async function openDemo(kind: "sqlite" | "postgres"): Promise<{ host: HostProcess; assistant: string }> {
  const host = await startHostProcess({ folder: makeFolder(), args: serveArgs(await placeFor(kind), "--demo") });
  const { credentials } = (await commandJson(host, words`credential list --tenant demo`)) as {
    credentials: Credential[];
  };
  const assistant = credentials.find(({ access: { actor } }) => actor.agentId === "assistant")?.id ?? "";
  return { host, assistant };
}

/** Starts a turn as the bearer of a credential. */
async function startTurn(host: HostProcess, credentialId: string, payload: object): Promise<string> {
  const body = { namespaceId: "demo", credentialId, agent: "assistant", payload };
  const started = await ask(host.url, "/admin/v1/turns", { token: host.operatorToken(), body });
  expect([started.status, started.body]).toMatchObject([201, { isAsync: true, state: { status: "running" } }]);
  return (started.body as Turn).state.executionId;
}

/** Waits until a turn is in a state. */
function reaches(host: HostProcess, id: string, status: string): Promise<Turn["state"]> {
  return eventually(async () => {
    const path = `/admin/v1/turns/demo/${id}`;
    const { state } = (await ask(host.url, path, { token: host.operatorToken() })).body as Turn;
    if (state.status !== status) throw new Error(`The turn is ${state.status}.`);
    return state;
  });
}

describe.each(anyDatabase)("an operator of the demo on %s", (kind) => {
  test("sees with --preview what a grant or its revocation would change, and nothing is changed", async () => {
    const { host, assistant } = await openDemo(kind);
    const diary = { path: "private/diary.md" };
    const args = JSON.stringify(diary);
    const denied = await command(host, words`tools try files.read --tenant demo --as ${assistant} --args ${args}`);
    expect(denied).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Denied (no_matching_grant): No grant covers the act.\n" +
        "The audit log says more: turnpike audit list --tenant <tenant> --outcome denied\n",
    });
    const notes = JSON.stringify({ path: "notes/ideas.md" });
    const allowed = await command(host, words`tools try files.read --tenant demo --as ${assistant} --args ${notes}`);
    expect([allowed.code, allowed.stdout]).toEqual([0, expect.stringContaining("A gate that every agent passes.")]);

    const create = words`grant create --tenant demo --to agent:assistant --from human:alice
      --resource files/private --action read --id draft --preview`;
    expect(steady(await command(host, create))).toEqual({
      ...said(
        "Nothing was changed.",
        "",
        "Opened:",
        "  agent:assistant may read files/private/** of any owner, on grants of human:alice, for any purpose",
        "",
        "Of 2 decisions since 2026-01-01T00:00:00.000Z, these would change:",
        "NOW                         THEN     TIMES  ACTOR            ACT",
        "denied (no_matching_grant)  allowed  1      agent:assistant  read files/private/diary.md of human:alice, on grants of human:alice, for demo",
      ),
      code: 3,
    });
    const revoke = words`grant revoke assistant-notes --tenant demo --preview`;
    expect(steady(await command(host, revoke)).stdout).toContain(
      "allowed  denied (no_matching_grant)  1      agent:assistant  read files/notes/ideas.md",
    );
    expect(await commandJson(host, revoke)).toMatchObject({ looked: 2, changed: [{ count: 1 }] });
    const { grants } = (await commandJson(host, words`grant list --tenant demo`)) as {
      grants: { state: string; grant: { id: string } }[];
    };
    expect(grants.map(({ grant }) => grant.id)).not.toContain("draft");
    expect(new Set(grants.map(({ state }) => state))).toEqual(new Set(["live"]));

    const elsewhere = words`grant create --tenant acme --to agent:a --from human:b --resource files --action read --preview`;
    expect(await command(host, elsewhere)).toEqual({
      ...said(
        "Nothing was changed.",
        "",
        "Opened:",
        "  agent:a may read files/** of any owner, on grants of human:b, for any purpose",
        "",
        "There is no decision in the audit log that could change.",
      ),
      code: 3,
    });

    const taken = words`grant create --tenant demo --to agent:assistant --from human:alice
      --resource files --action read --id assistant-notes --preview`;
    expect(await command(host, taken)).toEqual({
      code: 1,
      stdout: "",
      stderr: "This could not be done: /id: expected an id that no grant of this tenant has.\n",
    });
  });

  test("asks why as of another instant", async () => {
    const { host } = await openDemo(kind);
    const why = words`why --tenant demo --actor agent:assistant --owner human:alice --purpose demo --action read
      --resource files/notes/todo.md`;
    const verdict = async (at: string): Promise<string> =>
      (await command(host, [...why, "--at", at])).stdout.split("\n")[0] ?? "";
    expect(await verdict("2000-01-01T00:00:00Z")).toMatch(/^DENIED \(no_matching_grant\):.*, at 2000-01-01T00:00:00Z$/);
    expect(await verdict("2999-01-01T00:00:00Z")).toMatch(/^ALLOWED \(allowed\):.*, at 2999-01-01T00:00:00Z$/);
  });

  test("lists the tools of a credential by its id, as its bearer would", async () => {
    const { host, assistant } = await openDemo(kind);
    const [token] = host.stdout().match(/tp_[0-9a-f_]+/) ?? [];
    const listed = await commandJson(host, words`tools list --tenant demo --as ${assistant}`);
    expect(listed).toEqual(await commandJson(host, words`tools list`, token));
    const unknown = await command(host, words`tools list --tenant demo --as 0000000000000000`);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      "Refused (not_found): There is no credential of this id in this tenant.\n`turnpike credential list` shows what there is.\n",
    ]);
  });

  test("plays the story of the demo: the turns wait, are approved, and resume", async () => {
    const { host, assistant } = await openDemo(kind);
    const diary = await startTurn(host, assistant, { read: "private/diary.md" });
    await reaches(host, diary, "waiting");
    await command(host, words`escalation approve --tenant demo --turn ${diary} --uses 1`);
    const read = await reaches(host, diary, "succeeded");
    const { stdout } = await command(host, words`turn show ${diary} --tenant demo`);
    expect(stdout.split("\n")[0]).toBe("Tenant demo, started by agent:assistant, tried by service:demo, asynchronous.");
    expect(read.result?.output).toMatchObject([{ content: "Nobody but Alice reads this.\n" }]);

    const pay = await startTurn(host, assistant, { pay: { to: "bob", amount: 20 } });
    await reaches(host, pay, "waiting");
    await command(host, words`escalation approve --tenant demo --turn ${pay}`);
    const paid = await reaches(host, pay, "succeeded");
    expect(paid.result?.output).toMatchObject([{ receipt: expect.stringMatching(/^payments\/bob\//) as string }]);

    const { turns } = (await commandJson(host, words`turn list --tenant demo`)) as { turns: Turn[] };
    expect(turns.map(({ state }) => state.executionId).toSorted()).toEqual([diary, pay].toSorted());
  });

  test("ends a trial's turn by revoking the credential, whichever operator approved it", async () => {
    const { host, assistant } = await openDemo(kind);
    const diary = await startTurn(host, assistant, { read: "private/diary.md" });
    await reaches(host, diary, "waiting");
    await command(host, words`credential revoke ${assistant}`);
    await command(host, words`escalation approve --tenant demo --turn ${diary} --uses 1`);
    const ended = await eventually(async () => {
      const path = `/admin/v1/turns/demo/${diary}`;
      const { state } = (await ask(host.url, path, { token: host.operatorToken() })).body as Turn;
      if (state.result === undefined) throw new Error("The turn has not ended.");
      return state;
    });
    expect(JSON.stringify(ended.result)).not.toContain("Nobody but Alice reads this.");
  });
});
