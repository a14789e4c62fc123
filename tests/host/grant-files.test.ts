import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { ask } from "../../packages/host/test/host-calls.ts";
import { turnpike, type HostProcess } from "../support/host-process.ts";
import {
  command,
  commandJson,
  commandWith,
  refused,
  said,
  startAskingHost,
  steady,
  words,
} from "../support/terminal.ts";

let host: HostProcess;
beforeAll(async () => {
  host = await startAskingHost("sqlite");
});

const run = async (args: readonly string[]) => steady(await command(host, args));

/** A tenant whose assistant reads notes and passes that on to a helper, and that as a file. */
async function openTenant(tenant: string): Promise<string> {
  const create = words`grant create --tenant ${tenant} --to agent:assistant --from human:alice --id reads --depth 1`;
  expect((await command(host, [...create, ...words`--resource files/notes --action read list`])).code).toBe(0);
  const derive = words`grant derive reads --tenant ${tenant} --to agent:helper --id helper-reads --depth 0`;
  expect((await command(host, derive)).code).toBe(0);
  const file = `${tenant}.json`;
  expect(await run(words`grant export --tenant ${tenant} -o ${file}`)).toEqual(
    said(`Wrote 2 grants of ${tenant} to ${file}.`),
  );
  return file;
}

/** Runs a command whose input and output are a terminal, and answers when it asks. */
function atTerminal(
  args: readonly string[],
  question: string,
  answer: string,
): Promise<{ code: number | null; stdout: string }> {
  const line = [process.execPath, turnpike, ...args].join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], { cwd: host.folder });
  return new Promise((resolve, reject) => {
    let stdout = "";
    let isAnswered = false;
    child.stdout.on("data", (chunk) => {
      stdout += String(chunk);
      if (isAnswered || !stdout.includes(question)) return;
      isAnswered = true;
      child.stdin.write(`${answer}\n`);
    });
    child.on("error", reject).on("close", (code) => resolve({ code, stdout }));
  });
}

function edit(file: string, from: string, to: string): void {
  const path = join(host.folder, file);
  const text = readFileSync(path, "utf8");
  expect(text).toContain(from);
  writeFileSync(path, text.replaceAll(from, to));
}

const notDone = "Nothing was changed. With --yes it is done without asking, with --dry-run it is only shown.\n";

test("a tenant is what its export says, and again after another was made of it", async () => {
  const file = await openTenant("books");
  expect(await run(words`grant apply -f ${file}`)).toEqual(said("books: nothing to change, 2 unchanged."));
  const imported = words`grant import -f ${file} --tenant copies --yes`;
  expect((await run(imported)).stdout).toContain("copies: 2 to issue, 0 to revoke, 0 unchanged.\n");
  expect(await run(imported)).toEqual(said("copies: nothing to change, 2 unchanged."));
  const { stdout } = await run(words`grant export --tenant copies`);
  expect(stdout).toBe(readFileSync(join(host.folder, file), "utf8").replace('"books"', '"copies"'));
});

test("a tenant is exported as policies of Cedar, and what these leave out is named", async () => {
  await openTenant("policies");
  const guarded = words`grant create --tenant policies --to agent:assistant --from human:alice --id pays --approval each`;
  expect((await command(host, [...guarded, ...words`--resource bank/pay --action call`])).code).toBe(0);
  const exporting = words`grant export --tenant policies --cedar -o policies/cedar`;
  expect(await run(exporting)).toEqual(
    said(
      "Wrote 2 policies for the grants of policies to policies/cedar.",
      "Left out, and so denied there:",
      "  pays: approval",
    ),
  );
  const read = (name: string): string => readFileSync(join(host.folder, "policies/cedar", name), "utf8");
  expect(read("policies.cedar")).toContain(
    '  principal == Agent::"helper",\n  action in [Action::"read", Action::"list"],\n',
  );
  expect(read("schema.cedarschema")).toContain(
    "context: { authority: Party, owner: Party, purpose: String, now: datetime }",
  );
  expect(JSON.parse(read("entities.json"))).toContainEqual({
    uid: { type: "Place", id: "files/notes" },
    attrs: {},
    parents: [{ type: "Place", id: "files" }],
  });
  expect(await commandJson(host, exporting)).toEqual({
    folder: "policies/cedar",
    tenant: "policies",
    policies: 2,
    leftOut: [{ grantId: "pays", condition: "approval" }],
  });
});

for (const row of [
  { name: "no folder", args: [], says: "--cedar: expected a folder for the policies in --out." },
  { name: "a file", args: words`-o a-file`, says: "--out a-file: expected a folder that can be written." },
])
  test(`policies of Cedar are refused ${row.name} to be written into`, async () => {
    writeFileSync(join(host.folder, "a-file"), "");
    const { code, stderr } = await command(host, [...words`grant export --tenant policies --cedar`, ...row.args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(row.says)]);
  });

test("the difference is shown first, and nothing is done before the operator agrees", async () => {
  const file = await openTenant("letters");
  edit(file, '"list"', '"search"');
  const difference = [
    "letters: 2 to issue, 2 to revoke, 0 unchanged.",
    "",
    "CHANGE  ID                      TO               FROM             MAY                         TERMS        PARENT",
    "issue   grant-0000000000000000  agent:assistant  human:alice      read,search files/notes/**  delegable 1",
    "issue   grant-0000000000000000  agent:helper     agent:assistant  read,search files/notes/**  delegable 0  grant-0000000000000000",
    "revoke  helper-reads            agent:helper     agent:assistant  read,list files/notes/**    delegable 0  reads",
    "revoke  reads                   agent:assistant  human:alice      read,list files/notes/**    delegable 1",
  ];
  const apply = words`grant apply -f ${file}`;
  const notes = "files/notes/** of any owner, on grants of";
  const regions = [
    "",
    "Opened:",
    `  agent:assistant may search ${notes} human:alice, for any purpose`,
    `  agent:helper may search ${notes} agent:assistant, for any purpose`,
    "Closed:",
    `  agent:assistant may list ${notes} human:alice, for any purpose`,
    `  agent:helper may list ${notes} agent:assistant, for any purpose`,
  ];
  expect(await run(apply)).toEqual({ ...said(...difference, ...regions), code: 1, stderr: notDone });
  expect(await run([...apply, "--dry-run"])).toEqual({ ...said(...difference, ...regions), code: 3 });
  expect(await run(words`grant diff ${file}`)).toEqual({ ...said(...regions.slice(1)), code: 3 });
  const same = "For all requests, now and later, nothing opens, closes or changes.";
  expect(await run(words`grant diff ${file} ${file}`)).toEqual(said(same));
  const { stdout: list } = await command(host, words`grant list --tenant letters --state live`);
  expect(list.match(/read,list/g)).toHaveLength(2);

  expect(await run([...apply, "--yes"])).toEqual(said(...difference, ...regions, "Done: 2 issued, 2 revoked."));
  expect(await run([...apply, "--yes"])).toEqual(said("letters: nothing to change, 2 unchanged."));
  const live = await command(host, words`grant list --tenant letters --state live`);
  expect(live.stdout.match(/read,search/g)).toHaveLength(2);
  expect(live.stdout).not.toContain("read,list");
});

test("a person at a terminal is asked, and only the word yes confirms", async () => {
  const file = await openTenant("persons");
  edit(file, '"list"', '"search"');
  const answered = (answer: string) => atTerminal(words`grant apply -f ${file} --url ${host.url}`, "[y/N] ", answer);
  const refusal = await answered("no");
  expect([refusal.code, refusal.stdout]).toEqual([1, expect.stringContaining("Change persons like this? [y/N]")]);
  expect(refusal.stdout).toContain("Nothing was changed.");
  const agreed = await answered("y");
  expect([agreed.code, agreed.stdout]).toEqual([0, expect.stringContaining("Done: 2 issued, 2 revoked.")]);
});

test("scripts get the difference as JSON, and whether it was made", async () => {
  const file = await openTenant("scripts");
  edit(file, '"list"', '"search"');
  const unmade = await command(host, words`grant apply -f ${file} --json`);
  expect([unmade.code, JSON.parse(unmade.stderr), JSON.parse(unmade.stdout)]).toMatchObject([
    1,
    { error: { code: "failed", message: notDone.trim() } },
    { isApplied: false, regions: { opened: [{}, {}], closed: [{}, {}], changed: [] } },
  ]);
  const made = await commandJson(host, words`grant apply -f ${file} --yes`);
  expect(made).toMatchObject({ tenant: "scripts", isApplied: true, unchanged: 0, issue: [{}, {}], revoke: [{}, {}] });
});

test("a derived grant that is wider than its parent is refused, and nothing is changed", async () => {
  const file = await openTenant("wide");
  const path = join(host.folder, file);
  const file2 = JSON.parse(readFileSync(path, "utf8")) as {
    grants: { id: string; capabilities: { actions: string[] }[] }[];
  };
  for (const { id, capabilities } of file2.grants)
    if (id === "helper-reads") for (const capability of capabilities) capability.actions.push("delete");
  writeFileSync(path, JSON.stringify(file2));
  const { code, stdout, stderr } = await command(host, words`grant apply -f ${file} --yes`);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^Refused \(invalid_request\): issue\.0\.parentId: this grant would never count: /);
  expect((await command(host, words`grant list --tenant wide --state live`)).stdout).toContain("helper-reads");
});

test("a file that does not fit is refused with its place before anything is asked for", async () => {
  const file = await openTenant("places");
  edit(file, '"delegationDepth": 0', '"delegationDept": 0');
  const { code, stderr } = await command(host, words`grant apply -f ${file} --yes`);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^places\.json:\d+:\d+: .*delegationDept: expected no such key/),
  ]);
  expect(await run(words`grant apply -f nothing.json`)).toEqual({
    ...refused("--file nothing.json: expected a file that can be read."),
    code: 2,
  });
});

test("an auditor exports and applies nothing, and an operator of another tenant does neither", async () => {
  const file = await openTenant("roles");
  const tokenOf = async (role: string, tenant: string): Promise<string> => {
    const args = words`credential operator --name human:carol --role ${role} --tenant ${tenant}`;
    return ((await commandJson(host, args)) as { token: string }).token;
  };
  const as = (token: string, args: readonly string[]) =>
    commandWith(host.folder, [...args, "--url", host.url], { TURNPIKE_ADMIN_TOKEN: token });
  const [auditor, stranger] = [await tokenOf("auditor", "roles"), await tokenOf("admin", "elsewhere")];
  expect((await as(auditor, words`grant export --tenant roles`)).code).toBe(0);
  for (const [token, args] of [
    [auditor, words`grant apply -f ${file} --yes`],
    [stranger, words`grant apply -f ${file} --yes`],
    [stranger, words`grant import -f ${file} --yes`],
    [stranger, words`grant export --tenant roles`],
  ] as const)
    expect(await as(token, args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("permission_denied") as string,
    });
});

test("more grants than one request takes are imported in steps, and applied as one change when there are few", async () => {
  const { grants, ...file } = JSON.parse(readFileSync(join(host.folder, await openTenant("many")), "utf8")) as {
    grants: { id: string; parent?: string; constraints: object }[];
  };
  const parent = grants.find(({ id }) => id === "reads");
  const many = Array.from({ length: 1200 }, (_, place) => ({
    ...parent,
    id: `g${place}`,
    constraints: { maxUses: place + 1 },
  }));
  const write = (some: readonly object[]): void =>
    writeFileSync(join(host.folder, "many.json"), JSON.stringify({ ...file, grants: some }));
  write([...grants, ...many]);
  const { code, stderr } = await command(host, words`grant apply -f many.json --yes`);
  expect([code, stderr]).toEqual([1, expect.stringContaining("at most 1000 grants")]);
  expect((await command(host, words`grant import -f many.json --yes`)).code).toBe(0);
  expect(await run(words`grant apply -f many.json`)).toEqual(said("many: nothing to change, 1202 unchanged."));
  write([...grants, ...many.slice(1)]);
  expect((await command(host, words`grant apply -f many.json --yes`)).stdout).toContain("0 issued, 1 revoked.");
  const operator = readFileSync(join(host.folder, ".turnpike", "admin-token"), "utf8").trim();
  const { body } = await ask(host.url, "/admin/v1/audit?namespaceId=many&type=operator.changed&limit=2", {
    token: operator,
  });
  expect(body).toMatchObject({
    events: [{ event: { action: "grant.revoke", grantId: "g0", outcome: "succeeded" } }, {}],
  });
});
