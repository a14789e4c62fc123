import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { databaseKinds } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, runTurnpike, type HostProcess } from "../support/host-process.ts";
import { alice, assistant, makeCredential, makeGrant } from "../support/host-world.ts";
import {
  command,
  commandJson,
  commandWith,
  misused,
  refused,
  said,
  startAskingHost,
  steady,
  steadyText,
  words,
} from "../support/terminal.ts";
import type { Printed } from "../support/terminal.ts";

const zeros = "0".repeat(64);
const uuid = "00000000-0000-4000-8000-000000000000";
const sometime = "2026-01-01T00:00:00.000Z";
const bob = { kind: "human", userId: "bob" };

/** What a timeline shows, as if everything happened at once. */
function timeless({ code, stdout, stderr }: Printed): Printed {
  return { code, stdout: stdout.replaceAll(/^ +\d+\.\d\ds(?= )/gm, "   0.00s"), stderr };
}

// Each test has a tenant of its own on the host that all of them share.
describe.each(databaseKinds)("the command line on %s", (kind) => {
  let host: HostProcess;
  beforeAll(async () => {
    host = await startAskingHost(kind);
  });

  /** What a command prints, without what differs from run to run. */
  const prints = async (args: readonly string[], token?: string): Promise<Printed> =>
    steady(await command(host, args, token));
  const json = <T>(args: readonly string[], token?: string): Promise<T> => commandJson(host, args, token) as Promise<T>;

  /** The token of an assistant who holds some grants in a tenant (actions by namespace/path). */
  const enter = async (
    tenant: string,
    grants: Readonly<Record<string, readonly string[]>> = {},
    namespaces: readonly string[] = [],
  ): Promise<string> => {
    for (const [resource, actions] of Object.entries(grants)) {
      await makeGrant(host, { id: resource.split("/").at(-1) ?? "", tenant, resource, actions });
    }
    const { token } = await makeCredential(host, { tenant });
    await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: namespaces } });
    return token;
  };

  test("a process of its own prints and ends as every command here does", async () => {
    const [shown, denied] = await Promise.all([
      runTurnpike({ folder: host.folder, args: words`grant list --tenant unknown --url ${host.url}` }),
      runTurnpike({ folder: host.folder, args: words`grant revoke nothing --tenant unknown --url ${host.url}` }),
    ]);
    expect(shown).toEqual({ signal: null, ...said("There are no grants.") });
    expect(denied).toEqual({
      signal: null,
      ...refused(
        "Refused (not_found): There is no grant of this id in this tenant.",
        "The matching `list` command shows what there is.",
      ),
    });
  });

  test("grant show: the grant whole, its chain, what was derived from it, who changed and who used it", async () => {
    const tenant = "shown";
    const terms = words`--tenant ${tenant} --depth 1`;
    const made = words`grant create --id root --to agent:assistant --from human:alice --resource files/notes --action list`;
    for (const args of [
      [...made, ...terms],
      words`grant derive root --id child --tenant ${tenant} --to agent:helper`,
      words`grant revoke child --tenant ${tenant}`,
    ])
      expect((await command(host, args)).code).toBe(0);
    const token = await enter(tenant, {}, ["files"]);
    expect((await command(host, words`files list notes`, token)).code).toBe(0);

    const shown = await json<Record<"chain" | "children" | "changes" | "uses", Record<string, unknown>[]>>(
      words`grant show root --tenant ${tenant}`,
    );
    expect(shown).toMatchObject({
      grant: { id: "root", capabilities: [{ actions: ["list"] }] },
      state: "live",
      chain: [{ grant: { id: "root" } }],
      children: [{ grant: { id: "child" }, state: "revoked" }],
      hasMoreChildren: false,
    });
    expect(shown.changes.map(({ event }) => (event as { action: string; outcome: string }).action)).toEqual(
      ["grant.revoke", "grant.derive", "grant.create"].flatMap((action) => [action, action]),
    );
    expect(shown.uses).toMatchObject([{ event: { actor: { agentId: "assistant" }, grantId: "root", action: "list" } }]);

    const { stdout } = await command(host, words`grant show child --tenant ${tenant}`);
    expect(stdout).toContain("  chain    root (live) > child (revoked)\n");
    expect(stdout).toContain("Nothing was derived from it.\n");
    expect(stdout).toContain("It was not used");
    expect(await command(host, words`grant show none --tenant ${tenant}`)).toEqual(
      refused(
        "Refused (not_found): There is no grant of this id in this tenant.",
        "`turnpike grant list` shows what there is.",
      ),
    );
  });

  test("credential: made, listed, used and revoked", async () => {
    const list = words`credential list --tenant letters`;
    expect(await prints(list)).toEqual(said("There are no credentials."));
    const create = words`credential create --tenant letters --actor agent:assistant --owner human:alice --purpose support`;
    const made = await json<{ id: string; token: string }>([...create, ...words`billing --expires 30d`]);
    expect(steadyText(JSON.stringify(made))).toBe(`{"id":"${"0".repeat(16)}","token":"tp_${"0".repeat(16)}_${zeros}"}`);
    expect(made.token.split("_")[1]).toBe(made.id);
    expect(await prints(list)).toEqual(
      said(
        "ID                TENANT   ACTOR            OWNER        PURPOSES         SENDERS  STATE                           LAST USED",
        `0000000000000000  letters  agent:assistant  human:alice  support,billing  any      until ${sometime}  never`,
      ),
    );
    expect(await prints(words`tools list`, made.token)).toEqual(said("This credential may use no tool."));

    expect(await command(host, words`credential revoke ${made.id}`)).toEqual(said(`Revoked ${made.id}.`));
    expect(await prints(words`tools list`, made.token)).toEqual(
      refused(
        "Refused (unauthenticated): Send a valid credential: authorization: Bearer <token>.",
        "The token is unknown, expired or revoked.",
      ),
    );
    const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support", "billing"] };
    const [time, id] = [expect.any(String) as string, made.id];
    // When it was last used is written once a minute, so it may be there by now.
    const { credentials } = await json<{ credentials: ({ lastUsedAt?: string } & object)[] }>(list);
    expect(credentials.map(({ lastUsedAt: _used, ...rest }) => rest)).toEqual([
      { id, namespaceId: "letters", access, createdAt: time, expiresAt: time, revokedAt: time },
    ]);
    expect(await prints(create)).toEqual(said("The token, shown this once:", `tp_0000000000000000_${zeros}`));
  });

  test("credential: one that asks about others is listed as such", async () => {
    const create = words`credential create --tenant records --actor service:gateway --purpose serve`;
    await prints([...create, ...words`--evaluates`]);
    expect(await prints(words`credential list --tenant records`)).toEqual(
      said(
        "ID                TENANT   ACTOR            OWNER            PURPOSES           SENDERS  STATE  LAST USED",
        "0000000000000000  records  service:gateway  service:gateway  serve (evaluates)  any      good   never",
      ),
    );
  });

  test("credential: one that may name two senders is listed with them", async () => {
    const create = words`credential create --tenant names --actor agent:assistant --purpose support`;
    await prints([...create, ...words`--sender human:alice --sender human:bob`]);
    expect(await prints(words`credential list --tenant names`)).toEqual(
      said(
        "ID                TENANT  ACTOR            OWNER            PURPOSES  SENDERS                STATE  LAST USED",
        "0000000000000000  names   agent:assistant  agent:assistant  support   human:alice,human:bob  good   never",
      ),
    );
    const { credentials } = await json<{ credentials: { access: object }[] }>(words`credential list --tenant names`);
    expect(credentials).toMatchObject([{ access: { senders: [alice, bob] } }]);
    expect(await prints([...create, ...words`--sender alice`])).toMatchObject({ code: 2 });
  });

  test("credential operator: another operator is admitted, and named in the audit log", async () => {
    const { token } = await json<{ token: string }>(words`credential operator --name human:carol --expires 1h`);
    const terms = words`--to agent:a --from human:alice --resource files --action read --id g`;
    const args = [...words`grant create --tenant carols --url ${host.url}`, ...terms];
    expect(await commandWith(host.folder, args, { TURNPIKE_ADMIN_TOKEN: token })).toEqual(said("Issued g."));
    expect(await prints(words`audit list --tenant carols`)).toEqual(
      said(
        "ROW  AT                        TYPE              OUTCOME    ACTOR        WHAT          WHY  TRACE",
        `2    ${sometime}  operator.changed  succeeded  human:carol  grant.create  g    ${uuid}`,
        `1    ${sometime}  operator.changed  allowed    human:carol  grant.create  g    ${uuid}`,
      ),
    );
  });

  test("credential operator: with a role and a tenant, who may do what these allow and is told so otherwise", async () => {
    await enter("audited", { "files/notes": ["read"] });
    const operator = words`credential operator --name human:dora --role auditor --tenant audited`;
    const { id, token } = await json<{ id: string; token: string }>(operator);
    const asDora = (args: readonly string[]): Promise<Printed> =>
      commandWith(host.folder, [...args, "--url", host.url], { TURNPIKE_ADMIN_TOKEN: token });
    expect((await asDora(words`grant list --tenant audited`)).stdout).toMatch(/^ID +STATE/);
    const next = "Use the token of an operator who may: an admin's is in `admin-token` beside the host's database.";
    expect(await asDora(words`grant revoke notes --tenant audited`)).toEqual(
      refused("Refused (permission_denied): This is not for operators with the role auditor.", next),
    );
    expect(await asDora(words`grant list --tenant other`)).toEqual(
      refused("Refused (permission_denied): You are an operator of another tenant.", next),
    );
    const { stdout } = await command(host, words`credential list --tenant operators`);
    expect(stdout).toMatch(new RegExp(`^${id}  operators  human:dora +human:dora +operator: auditor of audited `, "m"));
    expect(stdout).toMatch(/^[0-9a-f]{16} {2}operators {2}service:operator +service:operator +operator: admin /m);
  });

  test("credential show and revoke --and-everything: what an operator left behind, and the end of it", async () => {
    const tenant = "inheritance";
    const { id, token } = await json<{ id: string; token: string }>(words`credential operator --name human:frank`);
    expect(await prints(words`credential show ${id}`)).toEqual(
      said(
        "0000000000000000 in operators",
        "  state     good",
        "  actor     human:frank",
        "  may       operator: admin",
        `  made      ${sometime}`,
        "  last used never",
        "",
        "It left nothing behind.",
      ),
    );
    const terms = words`--to agent:heir --from human:alice --resource files/will --action read`;
    for (const name of ["will-1", "will-2"]) {
      const args = [...words`grant create --tenant ${tenant} --id ${name} --url ${host.url}`, ...terms];
      expect(await commandWith(host.folder, args, { TURNPIKE_ADMIN_TOKEN: token })).toEqual(said(`Issued ${name}.`));
    }
    const shown = await prints(words`credential show ${id} --limit 1`);
    expect(shown.stdout.split("\n").slice(7)).toEqual([
      "What it left behind:",
      "KIND   TENANT       ID      ABOUT",
      "grant  inheritance  will-1  to agent:heir",
      `There is more: --cursor grants.11.inheritancewill-1`,
      "`turnpike credential revoke --and-everything` ends all of it.",
      "",
    ]);
    expect(await json(words`credential show ${id}`)).toMatchObject({
      credential: { id, namespaceId: "operators" },
      remaining: ["will-1", "will-2"].map((grantId) => ({ kind: "grant", namespaceId: tenant, grantId })),
    });
    expect(await command(host, words`credential revoke ${id}`)).toEqual(said(`Revoked ${id}.`));
    const end = words`credential revoke ${id} --and-everything`;
    expect(await command(host, end)).toEqual(said(`Revoked ${id}. Of what it left behind, this ended: 2 grants.`));
    expect(await command(host, end)).toEqual(said(`Revoked ${id}. Of what it left behind, this ended: nothing.`));
    expect((await command(host, words`credential show ${id}`)).stdout).toContain("It left nothing behind.\n");
    expect((await command(host, words`grant list --tenant ${tenant} --state live`)).stdout).toBe(
      "There are no grants.\n",
    );
  });

  test("credential rotate: another token, also in the file that had the old one", async () => {
    const { id, token } = await json<{ id: string; token: string }>(words`credential operator --name human:erin`);
    const folder = makeFolder();
    writeFileSync(join(folder, "admin-token"), `${token}\n`);
    const rotate = words`credential rotate ${id} --url ${host.url} --database ${join(folder, "turnpike.db")}`;
    const { code, stdout } = await commandWith(folder, rotate);
    const [said1, rotated = "", said2] = stdout.split("\n");
    expect([code, said1, said2]).toEqual([
      0,
      "The new token, shown this once:",
      `${join(folder, "admin-token")} has it now.`,
    ]);
    expect(rotated).toMatch(new RegExp(`^tp_${id}_[0-9a-f]{64}$`));
    expect(rotated).not.toBe(token);
    expect(readFileSync(join(folder, "admin-token"), "utf8")).toBe(`${rotated}\n`);
    const list = words`credential list --url ${host.url}`;
    expect((await commandWith(folder, list, { TURNPIKE_ADMIN_TOKEN: token })).code).toBe(1);
    expect((await commandWith(folder, list, { TURNPIKE_ADMIN_TOKEN: rotated })).code).toBe(0);
    // Of another caller, it is in no file.
    const other = await json<{ id: string }>(words`credential operator --name human:fay`);
    expect((await prints(words`credential rotate ${other.id}`)).stdout).toBe(
      `The new token, shown this once:\ntp_0000000000000000_${zeros}\n`,
    );
    expect(await prints(words`credential revoke ${other.id} --force`)).toEqual(said("Revoked 0000000000000000."));
  });

  test("tenant, activity, host and audit heads: how things are", async () => {
    expect(await prints(words`activity --tenant quiet`)).toEqual(
      said("Now: 0 waiting for an answer; turns: 0 running, 0 waiting.", "", "Nothing was decided in the last hour."),
    );
    expect(await prints(words`audit heads --tenant quiet`)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^There is no audit log\.\nLast checkpoint: /) as string,
    });
    const token = await enter("busy", { "files/notes": ["create"] }, ["files"]);
    expect((await prints(words`files create notes/a.md --content a`, token)).code).toBe(0);
    expect((await prints(words`files create private/a.md --content a`, token)).code).toBe(1);
    const activity = await prints(words`activity --tenant busy`);
    expect(activity.stdout).toMatch(
      /^Now: 0 waiting .*\n\nMINUTE +ALLOWED +DENIED +FAILED\n[^]*\n\nCOUNT +REASON\n1 +no_matching_grant\n$/,
    );
    const { minutes } = await json<{ minutes: { denied: number }[] }>(words`activity --tenant busy`);
    expect([minutes.length, minutes.reduce((sum, { denied }) => sum + denied, 0)]).toEqual([60, 1]);
    expect((await prints(words`audit heads --tenant busy`)).stdout).toMatch(
      /^STRAND +ROW +HASH\n\d+ +\d+ +0{64}\nLast checkpoint: .*\.\n$/,
    );
    expect((await prints(words`search BUSY --tenant busy`)).stdout).toMatch(/^Nothing is named so\.\n$/);
    expect((await prints(words`search files/ --tenant busy`)).stdout).toMatch(
      /^KIND +NAME +ABOUT\n(resource +files\/\S+ *\n)+$/,
    );
    expect((await prints(words`tenant list --limit 500`)).stdout).toMatch(/^TENANT +WAITING\n(.*\n)*busy +0\n/);
    expect((await prints(words`tenant list --limit 1`)).stdout).toMatch(/\nThere is more: --cursor \S+\n$/);
    expect((await prints(words`host list`)).stdout).toMatch(
      /^HOST +STARTED +TURNS +ANSWERS\n\d+ +\S+Z +\d+ +this one\nVersion \S+, on (PostgreSQL|an embedded database)\.\n$/,
    );
    const { hosts } = await json<{ hosts: object[] }>(words`host list`);
    expect(hosts).toMatchObject([{ isThis: true }]);
  });

  test("principal list, reach show and reach who: who can do what, and by which grants", async () => {
    const of = words`--tenant reaches`;
    expect(await prints([...words`principal list`, ...of])).toEqual(said("There are no principals."));
    expect(await prints([...words`reach who --resource files/notes`, ...of])).toEqual(
      said("No principal can reach it now."),
    );
    expect(await prints([...words`reach show --actor agent:helper --purpose support`, ...of])).toEqual(
      said("agent:helper may act nowhere in reaches now, for support."),
    );
    const create = words`grant create --to agent:assistant --from human:alice --resource files/notes`;
    await prints([...create, ...of, ...words`--action read list --depth 1 --id notes`]);
    await prints([...create, ...of, ...words`--owner human:bob --action delete --approval each --id guarded`]);
    await prints([
      ...words`grant derive notes --to agent:helper --resource files/notes/todo.md --exact --action read --id todo`,
      ...of,
      ...words`--purpose support --expires 2999-01-31T12:00:00Z`,
    ]);
    expect(await prints([...words`principal list`, ...of])).toEqual(
      said(
        "PRINCIPAL        HOLDS  ISSUED  CREDENTIALS",
        "agent:assistant  2      1       0",
        "agent:helper     1      0       0",
        "human:alice      0      2       0",
      ),
    );
    expect(await json([...words`principal list --search helper`, ...of])).toMatchObject({
      principals: [{ principal: { agentId: "helper" } }],
    });
    expect(await prints([...words`reach show --actor agent:assistant`, ...of])).toEqual(
      said(
        "MAY                                                  BY",
        "delete files/notes/** of human:bob (needs approval)  guarded",
        "list,read files/notes/**                             notes",
      ),
    );
    expect(await prints([...words`reach who --resource files/notes/todo.md`, ...of])).toEqual(
      said(
        "WHO              MAY        TERMS                                    BY",
        "agent:assistant  delete     of human:bob, needs approval             guarded from human:alice",
        "agent:assistant  list,read                                           notes from human:alice",
        "agent:helper     read       for support, until 2999-01-31T12:00:00Z  todo from agent:assistant < notes from human:alice",
      ),
    );
    await prints([...words`grant revoke notes`, ...of]);
    expect(await prints([...words`reach who --resource files/notes/todo.md --action read`, ...of])).toEqual(
      said("No principal can reach it now."),
    );
  });

  test("grant: issued, derived, listed a page at a time and revoked with all that was derived from it", async () => {
    const list = words`grant list --tenant deeds`;
    const create = words`grant create --tenant deeds --to agent:assistant --from human:alice`;
    expect(await prints(list)).toEqual(said("There are no grants."));
    const issued = await Promise.all([
      prints([...create, ...words`--resource files/notes --action read list --depth 2 --id notes`]),
      prints([
        ...create,
        ...words`--resource files/a.md --owner human:bob --exact --action * --id terms`,
        ...words`--purpose support billing --expires 2999-01-31T12:00:00Z --uses 3`,
      ]),
      prints([...create, ...words`--resource files --action stat`]),
    ]);
    expect(issued).toEqual([said("Issued notes."), said("Issued terms."), said("Issued grant-000000000000.")]);
    const narrow = words`--resource files/notes/todo.md --exact --action read`;
    expect(
      await prints([...words`grant derive notes --tenant deeds --to agent:helper --id notes-child`, ...narrow]),
    ).toEqual(said("Issued notes-child, derived from notes."));
    expect(await json(words`grant derive notes-child --tenant deeds --to agent:third --id notes-leaf`)).toMatchObject({
      id: "notes-leaf",
      parentId: "notes-child",
      constraints: { delegationDepth: 0 },
    });

    const [table, paged, rest, filtered] = await Promise.all([
      prints(list),
      prints([...list, ...words`--limit 1`]),
      prints([...list, ...words`--limit 1 --cursor notes-leaf`]),
      json([...list, ...words`--to agent:helper --from agent:assistant --state live --resource files`]),
    ]);
    expect(table).toEqual(
      said(
        "ID                  STATE  TO               FROM             MAY                        TERMS                                                               PARENT",
        "grant-000000000000  live   agent:assistant  human:alice      stat files/**",
        "notes               live   agent:assistant  human:alice      read,list files/notes/**   delegable 2",
        "notes-child         live   agent:helper     agent:assistant  read files/notes/todo.md   delegable 1                                                         notes",
        "notes-leaf          live   agent:third      agent:helper     read files/notes/todo.md   delegable 0                                                         notes-child",
        "terms               live   agent:assistant  human:alice      * files/a.md of human:bob  for support or billing, until 2999-01-31T12:00:00Z, 3 uses, 0 used",
      ),
    );
    expect(paged.stdout).toMatch(/\nThere is more: --cursor grant-000000000000\n$/);
    expect(rest.stdout).toMatch(/^ID .*\nterms .*\n$/);
    expect(filtered).toMatchObject({ grants: [{ state: "live", grant: { id: "notes-child" } }] });

    expect(await prints(words`grant revoke notes --tenant deeds`)).toEqual(
      said(
        "Revoked notes. These grants were derived from it and are invalid now:",
        "  notes-child of agent:helper",
        "  notes-leaf of agent:third",
      ),
    );
    expect(await json([...list, ...words`--state revoked`])).toMatchObject({
      grants: [{ state: "revoked", grant: { id: "notes" } }],
    });
  });

  test("namespace: shown, switched on, and off only as expected", async () => {
    const of = words`--tenant switches --actor agent:assistant`;
    // So that there is something of this tenant.
    await makeCredential(host, { tenant: "switches" });
    const shows = (files: string, messages: string, service: string) =>
      said("NAMESPACE  STATE", `files      ${files}`, `messages   ${messages}`, `service    ${service}`);
    expect(await prints([...words`namespace list`, ...of])).toEqual(shows("off", "off", "off"));
    expect(await prints([...words`namespace enable files messages`, ...of])).toEqual(shows("on", "on", "off"));
    const { version, ...settings } = await json<{ version: string }>([...words`namespace list`, ...of]);
    const known = ["files", "messages", "service"];
    expect(settings).toEqual({ namespaceId: "switches", actor: assistant, enabled: ["files", "messages"], known });
    const disable = [...words`namespace disable files --expected-version ${version}`, ...of];
    expect(await prints(disable)).toEqual(shows("off", "on", "off"));
    expect(await prints(disable)).toEqual(
      refused(
        "Refused (conflict): --expected-version: these settings were changed since.",
        "Check again with the matching `list` command.",
      ),
    );
  });

  test("tools: listed and called, and a denied call says who can tell why", async () => {
    const token = await enter("tools", { "files/notes": ["list", "read"] }, ["files"]);
    const [table, list, called, denied, hidden] = await Promise.all([
      prints(words`tools list`, token),
      json(words`tools list`, token),
      prints(words`tools call files.list --args ${'{"path": "notes"}'}`, token),
      prints(words`tools call files.list --args ${'{"path": "private"}'}`, token),
      prints(words`tools call messages.inbox`, token),
    ]);
    expect(table).toEqual(
      said(
        "TOOL        KIND  WHAT IT DOES",
        "files.list  read  Lists the files at and below a folder; with depth 1 its own files and folders.",
        "files.read  read  Reads one file.",
      ),
    );
    expect(list).toMatchObject([{ name: "files.list" }, { name: "files.read" }]);
    expect(called).toEqual(said("{", '  "entries": []', "}"));
    expect(denied).toEqual(
      refused(
        "Denied (no_matching_grant): No grant covers the act.",
        `An operator can say what is missing: turnpike why --tenant <tenant> --trace ${uuid}`,
      ),
    );
    expect(hidden).toEqual(
      refused(
        "Denied (tool_unavailable): The caller cannot use this tool.",
        `An operator can say what is missing: turnpike why --tenant <tenant> --trace ${uuid}`,
      ),
    );
  });

  test("message: sent, read, answered and acknowledged", async () => {
    const token = await enter("post", { "service.messaging": ["send", "receive"] }, ["messages"]);
    const send = words`message send --to agent:assistant`;
    const { messageId } = await json<{ messageId: string }>([...send, ...words`--payload {"text":"hello"}`], token);
    const answer = [...send, ...words`--payload "done" --reply-to ${messageId}`];
    expect(await prints(answer, token)).toEqual(said(`Accepted ${zeros}.`));
    const [table, first] = await Promise.all([
      prints(words`message inbox`, token),
      json<{ cursor: string }>(words`message inbox --limit 1`, token),
    ]);
    expect({ ...table, stdout: table.stdout.replace(/--cursor 2-\S+/, "--cursor 2-x") }).toEqual(
      said(
        `ID${" ".repeat(62)}  FROM             RECEIVED                  SAYS              REPLY TO`,
        `${zeros}  agent:assistant  ${sometime}  {"text":"hello"}`,
        `${zeros}  agent:assistant  ${sometime}  "done"            ${zeros}`,
        "What comes next: --cursor 2-x",
      ),
    );
    expect(first).toMatchObject({ messages: [{ id: messageId, payload: { text: "hello" } }], unknown: [] });
    expect(await json(words`message inbox --cursor ${first.cursor}`, token)).toMatchObject({
      messages: [{ payload: "done", replyTo: messageId }],
    });
    const settled = await prints(words`message inbox --acknowledge ${messageId} nothing`, token);
    expect(settled.stdout).not.toContain('{"text":"hello"}');
    expect(settled.stdout).toMatch(/\nNot in this inbox: nothing\n$/);
    expect(await json(words`message inbox --all`, token)).toMatchObject({ messages: [{ id: messageId }, {}] });
  });

  const turn = (payload: unknown): string[] =>
    words`turn --agent assistant --from human:alice --purpose support --message ${JSON.stringify(payload)}`;

  test("turn: run, followed, failed", async () => {
    const token = await enter("turns", { "service.execution/agent/assistant": ["invoke"] });
    const [done, followed, failed] = await Promise.all([
      prints(turn({ done: true }), token),
      prints([...turn("done"), ...words`--follow --json`], token),
      prints(turn({ fail: { code: "too_hard", message: "I give up." } }), token),
    ]);
    expect(done).toEqual(said("{", '  "done": true', "}"));
    expect(JSON.parse(followed.stdout)).toMatchObject({ status: "succeeded", output: "done" });
    expect(followed.stderr.match(/^\S+/gm)).toEqual(["turn.started", "runtime.event", "turn.completed"]);
    expect(failed).toMatchObject({ code: 1, stderr: "Failed (too_hard): I give up.\n" });
  });

  test("turn: started, followed, shown and listed by its caller", async () => {
    const token = await enter("starts", { "service.execution/agent/assistant": ["invoke"] });
    const start = (id: string, payload: unknown) =>
      words`turn start --id ${id} --agent assistant --from human:alice --purpose support --message ${JSON.stringify(payload)}`;
    expect(await prints(start("good", { done: true }), token)).toEqual(
      said("Started good.", "Follow it: turnpike turn follow good --url http://host"),
    );
    expect(timeless(await prints(words`turn follow good`, token))).toEqual(
      said(
        "   0.00s  .  turn started",
        '   0.00s  .  {"type":"told","data":{"done":true}}',
        "   0.00s  +  turn completed",
        "{",
        '  "done": true',
        "}",
      ),
    );
    const lines = (await prints(words`turn follow good --json`, token)).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { sequence: 0, type: "turn.started" },
      { sequence: 1, type: "runtime.event" },
      { sequence: 2, type: "turn.completed" },
      { executionId: "good", status: "succeeded", result: { output: { done: true } } },
    ]);
    await command(host, start("bad", { fail: { code: "too_hard", message: "I give up." } }), token);
    expect(timeless(await prints(words`turn follow bad`, token))).toEqual({
      ...refused("Failed (too_hard): I give up."),
      stdout: expect.stringMatching(/\n {3}0\.00s {2}x {2}turn failed \(too_hard\)\n$/),
    });
    expect((await prints(words`turn list --limit 1`, token)).stdout).toMatch(
      /^ID   STATUS  STARTED               CALLS  NOTE\nbad  failed  \S{20}  0      too_hard\nThere is more: --cursor \S+\n$/,
    );
    expect((await prints(words`turn list --status waiting`, token)).stdout).toBe("No such turn.\n");
    expect(timeless(await prints(words`turn show good`, token))).toEqual(
      said(
        `good of agent:assistant succeeded. It started ${sometime} and ended ${sometime}, with 1 step and 0 tool calls.`,
        "   0.00s  .  turn started",
        '   0.00s  .  {"type":"told","data":{"done":true}}',
        "   0.00s  +  turn completed",
        "{",
        '  "done": true',
        "}",
      ),
    );
    expect((await prints(words`turn cancel good`, token)).stdout).toMatch(/^good of agent:assistant succeeded\./);
    const other = await enter("elsewhere");
    for (const verb of ["show", "follow", "cancel"])
      expect(await prints(words`turn ${verb} good`, other)).toEqual(
        refused("Refused (not_found): You have no turn with this id."),
      );
  });

  test("turn: seen and cancelled by an operator, while it waits for a person", async () => {
    const mayAsk = { "service.execution/agent/assistant": ["invoke"], "service/escalation": ["request"] };
    const token = await enter("waits", mayAsk, ["service"]);
    const message = JSON.stringify({ ask: { reason: "I need it." } });
    const start = words`turn start --agent assistant --from human:alice --purpose support --message ${message}`;
    const { executionId: id } = await json<{ executionId: string }>(start, token);
    const until = (status: string) =>
      eventually(async () => {
        // A caller's request: operators of all tests share one limit.
        expect(await json(words`turn show ${id}`, token)).toMatchObject({ status });
      });
    await until("waiting");
    const began = `turn-0000000000000000 of agent:assistant is waiting. It started ${sometime}, with 1 step and 1 tool call so far.`;
    expect(await prints(words`turn show ${id}`, token)).toEqual(
      said(
        began,
        "It waits for human:alice: I need it.",
        "An operator answers it: turnpike escalation list --tenant <tenant>",
        "Follow it: turnpike turn follow turn-0000000000000000 --url http://host",
      ),
    );
    expect(timeless(await prints(words`turn show ${id} --tenant waits`))).toEqual(
      said(
        "Tenant waits, started by agent:assistant, asynchronous.",
        began,
        "   0.00s  .  turn started",
        '   0.00s  .  {"type":"told","data":{"ask":{"reason":"I need it."}}}',
        "   0.00s  >  service.escalate",
        "It waits for human:alice: I need it.",
        "Answer it: turnpike escalation list --url http://host --tenant waits",
      ),
    );
    expect((await prints(words`turn list --tenant waits`)).stdout).toMatch(
      /^ID +BY +STATUS +STARTED +CALLS {2}NOTE\nturn-0{16} {2}agent:assistant {2}waiting {2}\S{20} {2}1 {6}for human:alice: I need it\.\n$/,
    );
    expect((await prints(words`turn list --all-tenants --status waiting`)).stdout).toMatch(/\nwaits {2,}turn-0{16} /);
    expect(await prints(words`turn show ${id} --tenant waits --actor agent:other`)).toMatchObject({ code: 1 });
    expect(await prints(words`turn cancel ${id} --tenant waits`)).toEqual(
      said("Cancelled turn-0000000000000000: it ends before its next step."),
    );
    await until("cancelled");
    expect((await prints(words`audit list --tenant waits --type operator.changed --limit 1`)).stdout).toContain(
      "turn.cancel",
    );
    expect(await prints(words`turn follow ${id}`, token)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Cancelled \(turn_cancelled\): /),
    });
  });

  test("escalation: asked, listed, approved once, denied with a reason", async () => {
    const mayAsk = { "service.execution/agent/assistant": ["invoke"], "service/escalation": ["request"] };
    const token = await enter("asks", mayAsk, ["service"]);
    const asking = (path: string): string[] => {
      const capability = { resource: { namespace: "files", path: [path] }, actions: ["read"], scope: "exact" };
      return turn({ escalate: { reason: `I need ${path}.`, requestedAuthority: { capabilities: [capability] } } });
    };
    const list = words`escalation list --tenant asks`;
    expect(await prints(list)).toEqual(said("No escalation is pending."));
    expect(await prints(asking("diary.md"), token)).toEqual(
      said(
        "The turn ended with an escalation: I need diary.md.",
        "It requests: read files/diary.md",
        "An operator answers it: turnpike escalation list --tenant <tenant>",
      ),
    );
    const [table, { escalations }] = await Promise.all([
      prints(list),
      json<{ escalations: { id: string; ask: string }[] }>(list),
    ]);
    expect(table).toEqual(
      said(
        "ID                 FROM             TURN                   WANTS                TERMS                                        BECAUSE           ANSWER",
        `q0000000000000000  agent:assistant  turn-0000000000000000  read files/diary.md  of human:alice, by human:alice, for support  I need diary.md.  until ${sometime}`,
        "",
        "All of the newest, and its turn so far:",
        "  turnpike escalation show q0000000000000000 --url http://host --tenant asks",
        "",
        "The newest is approved with:",
        `  turnpike escalation approve q0000000000000000 --url http://host --tenant asks --ask ${"0".repeat(64)}`,
      ),
    );
    const { id = "", ask: hash = "" } = escalations[0] ?? {};
    const approve = words`escalation approve ${id} --tenant asks --expires 1h --uses 1 --ask`;
    const again = "Check again with the matching `list` command.";
    expect(await prints([...approve, "another"])).toEqual(
      refused(
        "Refused (conflict): --ask: this escalation requests something else. Read it again before you answer.",
        again,
      ),
    );
    expect(await prints([...approve, hash])).toEqual(
      said(
        `Approved. agent:assistant may read files/diary.md of human:alice, for support, until ${sometime}, 1 use (approved-q0000000000000000).`,
      ),
    );
    expect(await prints(words`escalation deny ${id} --tenant asks --reason No.`)).toEqual(
      refused(
        `Refused (conflict): This escalation was approved as approved-q0000000000000000 ${sometime} by service:operator; it can be answered only once.`,
        again,
      ),
    );

    for (const path of ["one.md", "two.md"]) expect((await command(host, asking(path), token)).code).toBe(0);
    const wanted = words`escalation approve --tenant asks --wants ${"read files/one.md"}`;
    expect((await prints(wanted)).stdout).toMatch(/^Approved\. agent:assistant may read files\/one\.md of human:alice/);
    expect((await prints(wanted)).stderr).toMatch(
      /^There is no such escalation in asks\. See: turnpike escalation list/,
    );
    const newest = await json<{ escalations: { id: string }[] }>([...list, ...words`--limit 1`]);
    const second = newest.escalations[0]?.id ?? "";
    expect(await prints(words`escalation deny ${second} --tenant asks --reason ${"It stays private."}`)).toEqual(
      said("Denied q0000000000000000."),
    );
    expect(await Promise.all(["approved", "denied"].map((status) => prints([...list, "--status", status])))).toEqual([
      said(
        "ID                 FROM             TURN                   WANTS                TERMS                                        BECAUSE           ANSWER",
        "q0000000000000000  agent:assistant  turn-0000000000000000  read files/one.md    of human:alice, by human:alice, for support  I need one.md.    approved-q0000000000000000",
        "q0000000000000000  agent:assistant  turn-0000000000000000  read files/diary.md  of human:alice, by human:alice, for support  I need diary.md.  approved-q0000000000000000",
      ),
      said(
        "ID                 FROM             TURN                   WANTS              TERMS                                        BECAUSE         ANSWER",
        "q0000000000000000  agent:assistant  turn-0000000000000000  read files/two.md  of human:alice, by human:alice, for support  I need two.md.  It stays private.",
      ),
    ]);
  });

  test("approval: an act waits, is shown, explained and approved, and runs once", async () => {
    const grant = words`--to agent:assistant --from human:alice --resource files/notes --action create read`;
    expect(
      await prints([...words`grant create --tenant guarded --approval each --id guarded --depth 1`, ...grant]),
    ).toEqual(said("Issued guarded."));
    const derive = words`grant derive guarded --tenant guarded --to agent:helper`;
    expect(await prints([...derive, ...words`--approval each`])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("expected --resource and --action together"),
    });
    const narrow = words`--resource files/notes --action read`;
    expect(await prints([...derive, ...narrow])).toMatchObject({ code: 1 });
    expect(await prints([...derive, ...narrow, ...words`--approval each --id below`])).toEqual(
      said("Issued below, derived from guarded."),
    );
    expect((await prints(words`grant list --tenant guarded --to agent:assistant`)).stdout).toContain(
      "  create,read files/notes/** (needs approval)  delegable 1",
    );

    const token = await enter("guarded");
    const create = words`files create notes/todo.md --content ${"Water\u202e the\nplants"}`;
    const again =
      /until \S+\. Once it is approved, do the same again: it works once\.\n.*: turnpike escalation show q\w+ --tenant <tenant>\n$/;
    expect(await command(host, create, token)).toMatchObject({ code: 1, stderr: expect.stringMatching(again) });
    const why = words`why --tenant guarded --actor agent:assistant --owner human:alice --purpose support`;
    expect(await prints([...why, ...words`--action create --resource files/notes/todo.md`])).toEqual(
      said(
        "DENIED (approval_required): agent:assistant, create files/notes/todo.md of human:alice, on grants of human:alice, for support",
        "",
        "GRANT    FROM         FAILED             BECAUSE",
        "guarded  human:alice  approval_required  A person has to approve exactly this act: create,read files/notes/** (needs approval).",
        "",
        "Each such act waits for a person's approval. This lists what waits:",
        "  turnpike escalation list --url http://host --tenant guarded",
      ),
    );
    expect(await prints(words`escalation list --tenant guarded`)).toEqual(
      said(
        "ID                 FROM             TURN  WANTS                                      TERMS                                        BECAUSE                                            ANSWER",
        `q0000000000000000  agent:assistant  -     create files/notes/todo.md of human:alice  of human:alice, by human:alice, for support  Approval is needed to create files/notes/todo.md.  until ${sometime}`,
        "",
        "All of the newest, and its turn so far:",
        "  turnpike escalation show q0000000000000000 --url http://host --tenant guarded",
      ),
    );
    const { escalations } = await json<{ escalations: { id: string }[] }>(words`escalation list --tenant guarded`);
    const id = escalations[0]?.id ?? "";
    expect(await prints(words`escalation show ${id} --tenant guarded`)).toEqual(
      said(
        `q0000000000000000 of guarded waits until ${sometime}.`,
        "",
        "agent:assistant wants to create files/notes/todo.md of human:alice",
        "of human:alice, by human:alice, for support",
        "Because: Approval is needed to create files/notes/todo.md.",
        "",
        "With exactly these arguments:",
        "  input.content  | Water<U+202E> the",
        "                 | plants",
        "",
        "It needs create files/notes/todo.md of human:alice.",
        "",
        "The grant guarded of human:alice says: delegable 1",
        "  create,read files/notes/** (needs approval)",
        "",
        "One person has to approve. No one has so far.",
        "",
        "Approve or deny exactly this:",
        `  turnpike escalation approve q0000000000000000 --url http://host --tenant guarded --ask ${zeros}`,
        `  turnpike escalation deny q0000000000000000 --url http://host --tenant guarded --ask ${zeros} --reason ...`,
      ),
    );
    // What it wants is not all that it is about.
    const wanted = words`escalation approve --tenant guarded --wants ${"create files/notes/todo.md"}`;
    expect((await prints(wanted)).stderr).toMatch(/^There is no such escalation in guarded\. /);
    expect(await prints(words`escalation approve ${id} --tenant guarded`)).toEqual(
      said(
        `Approved. agent:assistant may create files/notes/todo.md of human:alice with exactly these arguments once, until ${sometime}.`,
        "  input.content  | Water<U+202E> the",
        "                 | plants",
      ),
    );
    expect((await prints(words`escalation show ${id} --tenant guarded`)).stdout).toMatch(
      /^q0000000000000000 of guarded was approved \S+ by service:operator\.\nThe approval is good for one use, until \S+\.\n/,
    );
    expect(await command(host, create, token)).toMatchObject({ code: 0 });

    const read = words`files read notes/todo.md`;
    expect(await command(host, read, token)).toMatchObject({ code: 1 });
    const waiting = await json<{ escalations: { id: string }[] }>(words`escalation list --tenant guarded`);
    const second = waiting.escalations[0]?.id ?? "";
    expect(await prints(words`escalation deny ${second} --tenant guarded --reason ${"Not now."}`)).toMatchObject({
      code: 0,
    });
    const readAgain = await command(host, read, token);
    expect(readAgain.stderr).toMatch(
      /approval_denied.*\n.*: turnpike escalation list --tenant <tenant> --status denied\n$/,
    );
    expect((await prints(words`escalation show ${second} --tenant guarded`)).stdout).toMatch(
      /^q0000000000000000 of guarded was denied \S+: Not now\.\n/,
    );

    // The audit log shows which escalation was answered.
    expect((await prints(words`audit list --tenant guarded --type operator.changed`)).stdout).toMatch(
      / escalation\.deny q0{16} .*(\n.*)* escalation\.approve q0{16} /,
    );

    const explained = async (): Promise<string> => {
      const { events } = await json<{ events: { event: { traceId: string } }[] }>(
        words`audit list --tenant guarded --outcome denied`,
      );
      return (await prints(words`why --tenant guarded --trace ${events[0]?.event.traceId ?? ""}`)).stdout;
    };
    const no =
      "A person denied it. This lists such acts:\n  turnpike escalation list --url http://host --tenant guarded --status denied\n";
    expect(await explained()).toMatch(/^DENIED \(approval_required\)/);
    expect(await explained()).toContain(no);

    // An approval of another act at the same place that was not used yet does not make a denial look allowed.
    const write = (content: string): ReturnType<typeof command> =>
      command(host, words`files create notes/todo.md --content ${content}`, token);
    for (const [content, answer] of [
      ["refused", words`deny --reason ${"No."}`],
      ["allowed", words`approve`],
    ] as const) {
      await write(content);
      const open = await json<{ escalations: { id: string }[] }>(words`escalation list --tenant guarded`);
      const [verb = "", ...terms] = answer;
      const done = await prints(["escalation", verb, open.escalations[0]?.id ?? "", "--tenant", "guarded", ...terms]);
      expect(done.code).toBe(0);
    }
    expect((await write("refused")).stderr).toContain("approval_denied");
    const unused =
      "An approval that was not used yet allows this, and it is for one act alone: another waits for its own.\n\n";
    expect(await explained()).toContain(unused + no);
  });

  test("audit: listed by what happened, a page at a time, and verified", async () => {
    const token = await enter("logs", { "files/notes": ["read"] });
    for (const path of ["notes/todo.md", "private/diary.md"]) {
      expect(await command(host, words`files read ${path}`, token)).toMatchObject({ code: 1 });
    }
    const list = words`audit list --tenant logs`;
    const [table, page, none, verified, whole] = await Promise.all([
      prints([...list, ...words`--outcome denied --actor agent:assistant`]),
      json([...list, ...words`--type resource.invoked --limit 1`]),
      prints([...list, ...words`--until 2020-01-01T00:00:00Z`]),
      prints(words`audit verify --tenant logs`),
      json(words`audit verify --tenant logs`),
    ]);
    expect(table).toEqual(
      said(
        "ROW  AT                        TYPE                   OUTCOME  ACTOR            WHAT                                        WHY                TRACE",
        `10   ${sometime}  resource.invoked       denied   agent:assistant  read files/private/diary.md                 no_matching_grant  ${uuid}`,
        `9    ${sometime}  authorization.checked  denied   agent:assistant  read files/private/diary.md of human:alice  no_matching_grant  ${uuid}`,
      ),
    );
    expect(page).toMatchObject({
      events: [{ strand: 0, sequence: 10, event: { outcome: "denied" } }],
      cursor: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z_0_10$/),
    });
    const { cursor } = page as { cursor: string };
    expect(await json([...list, ...words`--type resource.invoked --cursor`, cursor])).toMatchObject({
      events: [{ event: { outcome: "failed", reason: "not_found" } }],
    });
    expect(none).toEqual(said("Nothing in the audit log fits."));
    expect(verified).toMatchObject({ code: 0, stderr: "" });
    expect(verified.stdout).toMatch(
      /^The audit log of logs is whole: 10 rows\.\nHead of strand 0: row 10, [0-9a-f]{64}\.\nHeld against \d+ signed heads? of the host's checkpoints\.\n$/,
    );
    expect(whole).toMatchObject({ isWhole: true, rows: 10, heads: [{ strand: 0, sequence: 10 }] });
    expect(await command(host, words`audit verify --tenant unknown`)).toEqual(
      refused(
        "Refused (not_found): There is no tenant of this name: it has no audit log, no grant and no credential.",
        "The matching `list` command shows what there is.",
      ),
    );
  });

  test("audit: exported to a file that is verified by itself, and joins the audit log", async () => {
    await enter("exported", { "files/notes": ["read"] });
    const [file, key] = [`${host.folder}/exported.jsonl`, `${host.folder}/exported.pem`];
    writeFileSync(key, (await command(host, words`audit key`)).stdout);
    const { rows } = await json<{ rows: number }>(words`audit verify --tenant exported`);
    const whole = `${file} is whole: ${rows} rows of exported, signed by the key ${"0".repeat(32)}.`;
    const printed = async (args: readonly string[]) => {
      const { stdout, ...rest } = await command(host, args);
      return { ...rest, stdout: stdout.replace(/key [0-9a-f]{32}/, `key ${"0".repeat(32)}`) };
    };
    const lines = [whole, `Strand 0: rows 1 to ${rows}.`];
    expect(await printed(words`audit export --tenant exported --out ${file}`)).toEqual(said(...lines));
    expect(await printed(words`audit verify --file ${file} --key ${key}`)).toEqual(said(...lines));
    expect(await printed(words`audit verify --file ${file} --tenant exported`)).toEqual(
      said(whole, `Strand 0: rows 1 to ${rows}. The host's rows go on from there.`),
    );
    expect(await command(host, words`audit verify --file ${file} --tenant logs`)).toEqual(
      refused(`${file} is of the tenant exported.`),
    );
    expect(await command(host, words`audit export --tenant exported --out ${file}`)).toMatchObject({ code: 2 });
    expect(await command(host, words`audit export --tenant unknown --out ${file}.2`)).toMatchObject({ code: 1 });
    writeFileSync(file, readFileSync(file, "utf8").replace("allowed", "denied"));
    expect(await command(host, words`audit verify --file ${file}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("was changed, or lines before it were removed"),
    });
  });

  test("tenant: deleted with one command, which needs its name twice", async () => {
    const token = await enter("leaving", { "files/notes": ["list", "create"] });
    await command(host, words`files create notes/a --content a`, token);
    expect(await command(host, words`tenant delete leaving --confirm leavin`)).toEqual(
      misused("--confirm leavin: expected leaving, the tenant that is to be deleted."),
    );
    expect(await command(host, words`files list notes`, token)).toMatchObject({ code: 0 });
    expect(await command(host, words`tenant delete leaving --confirm leaving`)).toEqual(
      said("Deleted leaving. Its audit log is with the exports of the host that removed it."),
    );
    expect(await command(host, words`files list notes`, token)).toMatchObject({ code: 1 });
    expect(await prints(words`grant list --tenant leaving`)).toEqual(said("There are no grants."));
    expect(await json(words`audit list --tenant leaving`)).toMatchObject({
      events: [{ event: { action: "tenant.deleted", outcome: "succeeded" } }],
    });
    expect((await command(host, words`audit verify --tenant leaving`)).stdout).toMatch(
      /^The audit log of leaving is whole: 1 row\.\nExported and removed from strand 0: \d+ rows, up to /,
    );
    expect(await command(host, words`tenant delete unknown --confirm unknown`)).toMatchObject({ code: 1 });
  });

  test("why: every grant with the first condition it failed, and the one command", async () => {
    const explain = words`
      why --tenant whys --actor agent:assistant --owner human:alice --purpose support
      --action read --resource files/private/diary.md`;
    const verdict =
      "DENIED (no_matching_grant): agent:assistant, read files/private/diary.md of human:alice, on grants of human:alice, for support";
    const suggestion = [
      "This would allow exactly this and nothing more:",
      "  turnpike grant create --url http://host --tenant whys --to agent:assistant --from human:alice " +
        "--owner human:alice --resource files/private/diary.md --exact --action read --purpose support",
    ];
    // So that there is something of this tenant.
    await makeCredential(host, { tenant: "whys" });
    expect(await prints(explain)).toEqual(
      said(verdict, "", "agent:assistant holds no grant of human:alice in whys.", "", ...suggestion),
    );

    const issue = async (id: string, changes: object, capability: object = {}): Promise<void> => {
      const place = { resource: { namespace: "files", path: ["private"] }, actions: ["read"], scope: "descendants" };
      const capabilities = [{ ...place, ...capability }];
      const grant = { id, namespaceId: "whys", subject: assistant, issuer: alice, capabilities, constraints: {} };
      const body = { ...grant, issuedAt: "2026-01-01T00:00:00Z", ...changes };
      const made = await ask(host.url, "/admin/v1/grants", { token: host.operatorToken(), body });
      expect([id, made.status]).toEqual([id, 201]);
    };
    await issue("a-namespace", {}, { resource: { namespace: "mail", path: [] } });
    await issue("b-owner", {}, { resource: { namespace: "files", path: [], owner: bob } });
    await issue("c-action", {}, { actions: ["list", "stat"] });
    await issue("d-path", {}, { scope: "exact" });
    await issue("e-later", { issuedAt: "2999-01-01T00:00:00Z" });
    await issue("f-not-yet", { constraints: { notBefore: "2999-01-01T00:00:00Z" } });
    await issue("g-expired", { constraints: { expiresAt: "2026-01-02T00:00:00Z" } });
    await issue("h-revoked", { revokedAt: "2026-01-03T00:00:00Z" });
    await issue("i-purpose", { constraints: { purposes: ["billing"] } });
    await issue("j-of-bob", { issuer: bob });
    await issue("k-to-bob", { subject: bob });
    const [denied, explained] = await Promise.all([prints(explain), json(explain)]);
    expect(denied).toEqual(
      said(
        verdict,
        "",
        "GRANT        FROM         FAILED         BECAUSE",
        "a-namespace  human:alice  namespace      It is about mail, not about files.",
        "b-owner      human:alice  owner          It is about what is human:bob's, not human:alice's.",
        "c-action     human:alice  action         There it allows to list and stat, not to read.",
        "d-path       human:alice  path           It covers read files/private, and files/private/diary.md lies outside of that.",
        "e-later      human:alice  not-issued     It is issued only at 2999-01-01T00:00:00Z.",
        "f-not-yet    human:alice  not-yet-valid  It begins only at 2999-01-01T00:00:00Z.",
        "g-expired    human:alice  expired        It ended at 2026-01-02T00:00:00Z.",
        "h-revoked    human:alice  revoked        It was revoked at 2026-01-03T00:00:00Z.",
        "i-purpose    human:alice  purpose        It is for billing alone, not for support.",
        "",
        ...suggestion,
      ),
    );
    const resource = { namespace: "files", path: ["private", "diary.md"] };
    expect(explained).toMatchObject({
      decision: { allowed: false, reasonCode: "no_matching_grant" },
      request: { action: "read", resource },
      suggestion: {
        namespaceId: "whys",
        subject: assistant,
        issuer: alice,
        capabilities: [{ resource: { ...resource, owner: alice }, actions: ["read"], scope: "exact" }],
        constraints: { purposes: ["support"] },
      },
    });

    await issue("allows", {});
    const { stdout } = await prints(explain);
    expect(stdout).toMatch(/^ALLOWED \(allowed\): agent:assistant, read files\/private\/diary\.md of human:alice, /);
    expect(stdout).toContain("\nallows       human:alice  -              It allows this.");
    expect(stdout).not.toContain("This would allow");
  });

  test("why: what a caller holds is passed on, and never granted anew by who does not own it", async () => {
    const why = words`why --tenant passed --actor agent:assistant --owner human:alice --authority human:bob --purpose support --action read --resource files/a.md`;
    const nothing = await prints(why);
    expect(nothing.stdout).not.toContain("turnpike grant");
    expect(nothing.stdout).toContain(
      "\n\nhuman:bob cannot grant this: it is human:alice's, and human:bob holds no grant for it that may be passed on. ",
    );
    const create = words`grant create --tenant passed --from human:alice --to human:bob --resource files --action read`;
    await command(host, [...create, ...words`--depth 2 --id held`]);
    const derive = (await command(host, why)).stdout.split("\n").at(-2)?.trim().split(" ") ?? [];
    expect(steadyText(derive.join(" "))).toBe(
      "turnpike grant derive held --url http://host --tenant passed --to agent:assistant --owner human:alice " +
        "--resource files/a.md --exact --action read --purpose support --depth 0",
    );
    expect((await command(host, [...derive.slice(1), ...words`--id passed-on`])).code).toBe(0);
    expect((await prints(why)).stdout).toMatch(/^ALLOWED /);
    await command(host, words`grant revoke held --tenant passed`);
    expect(await prints(words`grant list --tenant passed --state invalid`)).toEqual(
      said(
        "ID         STATE                      TO               FROM       MAY                             TERMS                     PARENT",
        "passed-on  invalid (parent_inactive)  agent:assistant  human:bob  read files/a.md of human:alice  for support, delegable 0  held",
      ),
    );
  });

  test("why: a grant that is used up, and one whose chain is invalid", async () => {
    const token = await enter("spent");
    const create = words`grant create --tenant spent --from human:alice --resource files/a.md --exact --action *`;
    await command(host, [...create, ...words`--to agent:assistant --uses 1 --id once`]);
    await command(host, [...create, ...words`--to human:bob --depth 1 --id root`]);
    await command(host, words`grant derive root --tenant spent --to agent:assistant --id leaf`);
    await command(host, words`grant revoke root --tenant spent`);
    expect((await command(host, words`files create a.md --content x`, token)).code).toBe(0);
    const denied = await prints(words`files read a.md`, token);
    expect(denied.stderr).toMatch(/^Denied \(grant_exhausted\): Every grant that covers the act has been used up\.\n/);
    const why = words`why --tenant spent --actor agent:assistant --owner human:alice --purpose support --action read --resource files/a.md`;
    const [spent, broken] = await Promise.all([prints(why), prints([...why, ...words`--authority human:bob`])]);
    expect(spent.stdout).toMatch(/^DENIED \(grant_exhausted\): /);
    expect(spent.stdout).toContain(
      "\nGRANT  FROM         FAILED           BECAUSE\nonce   human:alice  grant_exhausted  It has been used as often as it may be: 1 use.\n",
    );
    expect(broken.stdout).toMatch(/^DENIED \(delegation_chain_invalid\): /);
    expect(broken.stdout).toContain(
      "\nGRANT  FROM       FAILED                    BECAUSE\nleaf   human:bob  delegation_chain_invalid  Something above it no longer holds: parent_inactive.\n",
    );
    expect(broken.stdout).not.toContain("grant create");
  });

  test("a denial for want of uses says who can tell why, like every denial", async () => {
    const token = await enter("used-up");
    const create = words`grant create --tenant used-up --to agent:assistant --from human:alice --resource files`;
    await command(host, [...create, ...words`--action * --uses 1`]);
    expect((await command(host, words`files list`, token)).code).toBe(0);
    const denied = await prints(words`files list`, token);
    expect(denied.stderr).toMatch(/^Denied \(grant_exhausted\): /);
    expect(denied.stderr).toContain(`turnpike why --tenant <tenant> --trace ${uuid}\n`);
  });

  describe("why --trace", () => {
    /** The trace that a refused command told its caller. */
    const traceOf = ({ stderr }: Printed): string => / --trace (\S+)/.exec(stderr)?.[1] ?? "none";

    test("explains the denial of a call as it was recorded", async () => {
      const token = await enter("traced", { "files/notes": ["read"] }, ["files"]);
      const denied = await command(host, words`tools call files.read --args {"path":"private/a.md"}`, token);
      expect(await prints(words`why --tenant traced --trace ${traceOf(denied)}`)).toEqual(
        said(
          "DENIED (no_matching_grant): agent:assistant, read files/private/a.md of human:alice, on grants of human:alice, for support",
          "",
          `In the audit log ${sometime}: files.read no_matching_grant`,
          "",
          "GRANT  FROM         FAILED  BECAUSE",
          "notes  human:alice  path    It covers read files/notes/**, and files/private/a.md lies outside of that.",
          "",
          "This would allow exactly this and nothing more:",
          "  turnpike grant create --url http://host --tenant traced --to agent:assistant --from human:alice " +
            "--owner human:alice --resource files/private/a.md --exact --action read --purpose support",
        ),
      );
    });

    test("names the grants that were read when the tool could not be seen", async () => {
      const token = await enter("unseen", { "files/notes": ["read"] }, ["files"]);
      const denied = await command(host, words`tools call files.delete --args {"path":"notes/a.md"}`, token);
      const { code, stdout } = await prints(words`why --tenant unseen --trace ${traceOf(denied)}`);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^DENIED \(tool_unavailable\): agent:assistant/);
      expect(stdout).toMatch(/\nnotes +human:alice +action +It covers read files\/notes\/\*\*\.\n/);
    });

    test("says the command that switches on a namespace that is off", async () => {
      const token = await enter("off", { "service.messaging": ["receive"] });
      const denied = await command(host, words`message inbox`, token);
      const { code, stdout } = await prints(words`why --tenant off --trace ${traceOf(denied)}`);
      expect(code).toBe(0);
      expect(stdout).toMatch(/\n {2}turnpike namespace enable messages .*--tenant off --actor agent:assistant\n/);
    });

    test("explains a turn that was not admitted, which says its trace", async () => {
      const token = await enter("outside");
      const denied = await command(host, turn({}), token);
      expect(denied.code).toBe(1);
      expect((await prints(words`why --tenant outside --trace ${traceOf(denied)}`)).stdout).toContain(
        "--resource service.execution/agent/assistant --exact --action invoke --purpose support\n",
      );
    });
  });

  test("files: written, read and found", async () => {
    const token = await enter("papers", { "files/notes": ["*"] });
    const files = (args: readonly string[]) => prints(["files", ...args], token);
    const shows = said("path: notes/todo.md", "version: 1", "size: 26", `updatedAt: ${sometime}`);
    expect(await files(words`list notes`)).toEqual(said("Nothing."));
    const text = "water the plants\ncall Bob\n";
    expect(await files(words`create notes/todo.md --content ${text}`)).toEqual(shows);
    expect(await files(words`create notes/sub/b.md --content Bob --json`)).toMatchObject({ code: 0 });
    const [list, children, paged, stat, content, found, lines, twice, denied] = await Promise.all([
      files(words`list notes`),
      files(words`list notes --depth 1`),
      json<{ cursor: string }>(words`files list notes --limit 1`, token),
      files(words`stat notes/todo.md`),
      files(words`read notes/todo.md`),
      json(words`files search ${"water plants"} --in notes`, token),
      files(words`grep ${"call (bob|carol)"} --regex --ignore-case --in notes`),
      files(words`create notes/todo.md --content x`),
      files(words`read private/diary.md`),
    ]);
    expect(list).toEqual(
      said(
        "KIND  PATH            VERSION  SIZE  UPDATED AT",
        `file  notes/sub/b.md  1        3     ${sometime}`,
        `file  notes/todo.md   1        26    ${sometime}`,
      ),
    );
    expect(children).toEqual(
      said(
        "KIND    PATH           VERSION  SIZE  UPDATED AT",
        "folder  notes/sub",
        `file    notes/todo.md  1        26    ${sometime}`,
      ),
    );
    expect(await json(words`files list notes --cursor ${paged.cursor}`, token)).toMatchObject({
      entries: [{ kind: "file", path: "notes/todo.md" }],
    });
    expect(stat).toEqual(shows);
    expect(content).toEqual(said("water the plants", "call Bob"));
    expect(found).toMatchObject({ results: [{ path: "notes/todo.md", version: 1 }] });
    expect(lines).toEqual(said("PATH           LINE  TEXT", "notes/todo.md  2     call Bob"));
    expect(twice).toEqual(refused("Failed (already_exists): There is a file at this path already."));
    expect(denied).toEqual(
      refused(
        "Denied (no_matching_grant): No grant covers the act.",
        `An operator can say what is missing: turnpike why --tenant <tenant> --trace ${uuid}`,
      ),
    );
  });

  test("files: changed, deleted, and brought back from a snapshot", async () => {
    const token = await enter("drafts", { "files/notes": ["*"] });
    const files = (args: readonly string[]) => prints(["files", ...args], token);
    const shows = (version: number, size: number) =>
      said("path: notes/a.md", `version: ${version}`, `size: ${size}`, `updatedAt: ${sometime}`);
    await files(words`create notes/a.md --content first`);
    expect(await files(words`snapshot create notes --label before`)).toEqual(
      said(`id: ${uuid}`, "label: before", `createdAt: ${sometime}`, "path: notes", "files: 1"),
    );
    expect(await files(words`replace notes/a.md --content x --expected-version 7`)).toEqual(
      refused(
        "Failed (version_conflict): The file has version 1, and not 7.",
        "Read it again, and try with the version it has now.",
      ),
    );
    expect(await files(words`replace notes/a.md --content x --expected-version 1`)).toEqual(shows(2, 1));
    expect(await files(words`append notes/a.md --content yz`)).toEqual(shows(3, 3));
    expect(await files(words`delete notes/a.md --expected-version 3`)).toEqual(said("version: 4"));
    expect(await files(words`read notes/a.md`)).toEqual(refused("Failed (not_found): There is no file at this path."));
    const [table, { snapshots }] = await Promise.all([
      files(words`snapshot list notes`),
      json<{ snapshots: { id: string }[] }>(words`files snapshot list notes`, token),
    ]);
    expect(table).toEqual(
      said(
        "ID                                    LABEL   CREATED AT                PATH",
        `${uuid}  before  ${sometime}  notes`,
      ),
    );
    const { id = "" } = snapshots[0] ?? {};
    expect(await files(words`snapshot restore ${id} --in notes`)).toEqual(said("written: 1", "deleted: 0"));
    expect(await json(words`files read notes/a.md`, token)).toEqual({ content: "first", version: 5 });
  });
});
