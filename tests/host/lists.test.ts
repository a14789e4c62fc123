import { beforeAll, describe, expect, test } from "vitest";
import { textWidth } from "../../packages/host/src/cli/text-width.ts";
import { ask } from "../../packages/host/test/host-calls.ts";
import type { HostProcess } from "../support/host-process.ts";
import { listCall, makeCredential, makeGrant } from "../support/host-world.ts";
import { command, commandJson, commandWith, startAskingHost, words } from "../support/terminal.ts";

let host: HostProcess;
let token: string;
const tenants = ["one", "two", "三"];

// Three tenants with something in each list, in words that are long and of every width.
beforeAll(async () => {
  host = await startAskingHost("sqlite");
  for (const tenant of tenants) {
    await makeGrant(host, {
      id: `読-${"x".repeat(24)}`,
      tenant,
      resource: "files/крем/読む文件/crème",
      actions: ["read", "list"],
    });
    await makeGrant(host, { id: "asks", tenant, resource: "service/escalation", actions: ["request"] });
    await makeGrant(host, { id: "turns", tenant, resource: "service.execution/agent/assistant", actions: ["invoke"] });
    ({ token } = await makeCredential(host, {
      tenant,
      purposes: ["support", "billing-and-refunds", "everything-else"],
    }));
    await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["files", "service"] } });
    const read = { resource: { namespace: "files", path: ["読む文件".repeat(5)] }, actions: ["read"], scope: "exact" };
    const args = { reason: `May I? ${"請求 ".repeat(20)}`, requestedAuthority: { capabilities: [read] } };
    const turn = words`turn --agent assistant --from human:alice --purpose support --message`;
    const { code, stderr } = await command(host, [...turn, JSON.stringify({ escalate: args })], token);
    if (code !== 0) throw new Error(stderr);
  }
});

/** The lists that cover every tenant, with what JSON calls their rows and where each names its tenant. */
const lists = [
  { args: words`credential list`, rows: "credentials", tenantOf: (row: Row) => row["namespaceId"] },
  { args: words`grant list`, rows: "grants", tenantOf: (row: Row) => (row["grant"] as Row)["namespaceId"] },
  { args: words`namespace list`, rows: "settings", tenantOf: (row: Row) => row["namespaceId"] },
  { args: words`escalation list`, rows: "escalations", tenantOf: (row: Row) => row["namespaceId"] },
  { args: words`audit list`, rows: "events", tenantOf: (row: Row) => (row["event"] as Row)["namespaceId"] },
  { args: words`turn list --all-tenants`, rows: "turns", tenantOf: (row: Row) => row["namespaceId"] },
  { args: words`principal list`, rows: "principals", tenantOf: (row: Row) => row["namespaceId"] },
  { args: words`tenant list`, rows: "tenants", tenantOf: (row: Row) => row["namespaceId"] },
] as const;

type Row = Record<string, unknown>;

async function operatorOf(tenant: string): Promise<string> {
  const args = words`credential operator --name human:carol --role auditor --tenant ${tenant}`;
  return ((await commandJson(host, args)) as { token: string }).token;
}

describe("without --tenant", () => {
  for (const { args, rows, tenantOf } of lists) {
    test(`${args.join(" ")} covers every tenant, each row with its tenant`, async () => {
      const page = (await commandJson(host, [...args, "--limit", "200"])) as Record<string, Row[]>;
      const seen = new Set(page[rows]?.map(tenantOf));
      expect([...seen].filter((tenant) => tenant !== "operators").toSorted()).toEqual(tenants);
      const { stdout } = await command(host, [...args, "--limit", "200"]);
      expect(stdout.split("\n")[0]).toMatch(/\bTENANT\b/);
    });

    test(`${args.join(" ")} covers the one tenant of an operator of one`, async () => {
      const { stdout } = await commandWith(host.folder, [...args, "--url", host.url, "--json"], {
        TURNPIKE_ADMIN_TOKEN: await operatorOf("two"),
      });
      const page = JSON.parse(stdout) as Record<string, Row[]>;
      expect(new Set(page[rows]?.map(tenantOf))).toEqual(new Set(["two"]));
    });
  }

  test("a limit is one over all tenants, and pages continue where the one before ended", async () => {
    const seen: string[] = [];
    let cursor: string[] = [];
    do {
      const args = [...words`grant list --limit 2`, ...cursor];
      const page = (await commandJson(host, args)) as {
        grants: { grant: { id: string; namespaceId: string } }[];
        cursor?: string;
      };
      expect(page.grants.length).toBeLessThanOrEqual(2);
      seen.push(...page.grants.map(({ grant }) => `${grant.namespaceId} ${grant.id}`));
      cursor = page.cursor === undefined ? [] : ["--cursor", page.cursor];
    } while (cursor.length > 0);
    expect([seen.length, new Set(seen).size]).toEqual([9, 9]);
  });

  test("the environment of an operator makes `turn list` one of all tenants", async () => {
    const env = { TURNPIKE_ADMIN_TOKEN: host.operatorToken() };
    const { stdout } = await commandWith(host.folder, words`turn list --url ${host.url}`, env);
    expect(stdout).toMatch(/^TENANT /);
  });
});

describe("audit list", () => {
  beforeAll(async () => {
    const body = listCall("1", "t");
    await ask(host.url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body });
  });

  for (const { args, fits } of [
    { args: words`--grant turns`, fits: ({ grantId }: Row) => grantId === "turns" },
    { args: words`--tool files.list`, fits: ({ tool }: Row) => tool === "files.list" },
    { args: words`--reason no_matching_grant`, fits: ({ reason }: Row) => reason === "no_matching_grant" },
    { args: words`--resource service/escalation`, fits: ({ action }: Row) => action === "request" },
    { args: words`--text GRANT.CREATE --actor service:operator`, fits: ({ action }: Row) => action === "grant.create" },
  ]) {
    test(`${args.join(" ")} shows the events that fit, and some`, async () => {
      const all = (await commandJson(host, words`audit list --tenant 三 --limit 200`)) as { events: { event: Row }[] };
      const found = (await commandJson(host, [...words`audit list --tenant 三`, ...args])) as typeof all;
      const wanted = all.events.filter(({ event }) => fits(event));
      expect(found.events).toEqual(wanted);
      expect(wanted.length).toBeGreaterThan(0);
      expect(wanted.length).toBeLessThan(all.events.length);
    });
  }

  test("says what to do about filters that fit nothing together", async () => {
    const args = words`audit list --tenant one --reason no_matching_grant --outcome allowed`;
    const { code, stderr } = await command(host, args);
    expect([code, stderr]).toEqual([
      1,
      "Refused (invalid_request): --reason: expected it or this outcome, not both: only what was refused or failed has a reason\n",
    ]);
  });
});

describe("on a terminal", () => {
  const shown = [
    ...lists.map(({ args }) => args),
    ...["grant", "audit", "principal", "namespace"].map((noun) => words`${noun} list --tenant one`),
    words`namespace list --tenant one --actor agent:assistant`,
    words`audit heads --tenant one`,
    words`host list`,
    words`reach who --tenant one --resource files/крем/読む文件`,
    words`reach show --tenant one --actor agent:assistant --authority human:alice`,
  ];
  for (const args of shown) {
    test(`no line of ${args.join(" ")} is longer than it is wide`, async () => {
      for (const columns of [60, 80, 100, 140]) {
        const { code, stdout } = await commandWith(host.folder, [...args, "--url", host.url], {
          COLUMNS: String(columns),
        });
        expect(code).toBe(0);
        // Commands below a list are for pasting.
        const lines = stdout.split("\n").filter((line) => !/^ {2}turnpike |--cursor/.test(line));
        expect(lines.filter((line) => textWidth(line) > columns)).toEqual([]);
      }
    });
  }

  test("ids that are copied are whole, however narrow it is", async () => {
    const env = { COLUMNS: "60" };
    const { stdout } = await commandWith(host.folder, [...words`grant list --url`, host.url], env);
    expect(stdout).toContain(`読-${"x".repeat(24)}`);
    const { credentials } = (await commandJson(host, words`credential list`)) as { credentials: { id: string }[] };
    const { stdout: list } = await commandWith(host.folder, [...words`credential list --url`, host.url], env);
    for (const { id } of credentials) expect(list).toContain(id);
  });
});
