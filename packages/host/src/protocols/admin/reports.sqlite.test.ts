import { expect, test } from "vitest";
import { newTenant, sharedDatabase } from "../../../test/databases.ts";
import { adminRows } from "../../../test/admin-rows.ts";
import { bob, openOffice, type Office } from "../../../test/office.ts";
import { alice, assistant, grant } from "../../../test/records.ts";
import { adminRoutes, type AdminRoute, type AdminRouteName } from "../../admin-contract/index.ts";

const open = sharedDatabase("sqlite");

/** What takes long for operators. Whatever is added to the table of routes belongs here, or is answered at once. */
const reports = [
  "applyGrants with dryRun",
  "checkInvariants",
  "explain",
  "explainDenial",
  "exportAudit",
  "listAudit with grant",
  "listAudit with reason",
  "listAudit with resource",
  "listAudit with text",
  "listAudit with tool",
  "listGrants with issuer and parent",
  "listGrants with resource",
  "listGrants with state",
  "listGrants with subject and issuer",
  "listGrants with subject and parent",
  "listPrincipals with search",
  "listReachers",
  "previewGrant",
  "readEverReach",
  "readReach",
  "search",
  "verifyAudit",
  "verifyAuditHeads",
];

test("these are reports, which wait for a place, and nothing else is one", async () => {
  const office = await openOffice(await open(), { reports: { running: 0, waiting: 0 } });
  const refused: string[] = [];
  for (const [name, { method, path, input }] of Object.entries(adminRows)) {
    const { isStream, isFile }: AdminRoute = adminRoutes[name as AdminRouteName];
    if (isStream === true || isFile === true) continue;
    const given = await input(office, newTenant());
    const isRefused = async (sent: object): Promise<boolean> => {
      const [asked, body] = method === "GET" ? [`${path}?${queryOf(sent)}`, undefined] : [path, sent];
      return (await office.send("operator", method, asked, body)).status === 429;
    };
    if (await isRefused(given)) {
      refused.push(name);
      continue;
    }
    for (const [member, value] of Object.entries(filters))
      if (await isRefused({ ...given, [member]: value })) refused.push(`${name} with ${member}`);
    for (const [one, other] of pairs) {
      const members = { [one]: indexed[one], [other]: indexed[other] };
      if (await isRefused({ ...given, ...members })) refused.push(`${name} with ${one} and ${other}`);
    }
  }
  expect(refused.toSorted()).toEqual(reports);
});

/** What makes a list a report, and a change a rehearsal. */
const filters = {
  dryRun: true,
  grant: "g1",
  reason: "grant_exhausted",
  resource: "files",
  search: "a",
  state: "live",
  text: "a",
  tool: "files.read",
};

/** What an index finds one of, but not two of them together. */
const indexed = { subject: "agent:a", issuer: "human:alice", parent: "g1" };
const pairs = [
  ["subject", "issuer"],
  ["subject", "parent"],
  ["issuer", "parent"],
] as const;

function queryOf(input: object): string {
  return new URLSearchParams(Object.entries(input).map(([key, value]) => [key, String(value)])).toString();
}

const act = {
  actor: assistant,
  owner: alice,
  authority: alice,
  purpose: "support",
  action: "read",
  resource: { namespace: "files", path: ["notes"] },
};

/** An office whose explanations take until they are let go. */
async function slowOffice(limits: { waitMs?: number } = {}) {
  const waiting: (() => void)[] = [];
  const load = (): Promise<never[]> => new Promise((resolve) => waiting.push(() => resolve([])));
  const grants = { load, find: () => Promise.resolve(undefined) };
  const office = await openOffice(await open(), { kernel: { grants }, reports: limits });
  const namespaceId = newTenant();
  const explain = (post: Office["post"] = office.post) => post("/admin/v1/explanations", { namespaceId, ...act });
  return { office, namespaceId, waiting, explain };
}

test("an operator has one report that runs and four that wait; another operator, and other reads, are served", async () => {
  const { office, namespaceId, waiting, explain } = await slowOffice();
  const asked = Array.from({ length: 5 }, () => explain());
  await expect.poll(() => waiting.length).toBe(1);
  const sixth = await explain();
  expect([sixth.status, sixth.body, sixth.headers.get("retry-after")]).toMatchObject([
    429,
    { error: { code: "rate_limited" } },
    "10",
  ]);
  expect((await office.get("/admin/v1/grants", { namespaceId })).status).toBe(200);
  const other = explain(await office.postAs(bob));
  await expect.poll(() => waiting.length).toBe(2);
  for (let place = 0; place < 6; place += 1) {
    await expect.poll(() => waiting.length).toBeGreaterThan(place);
    waiting[place]?.();
  }
  expect((await Promise.all([...asked, other])).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
});

test("searches and filters that read texts are reports of their operator, and make neither other reads nor another tenant wait", async () => {
  const { office, namespaceId, waiting, explain } = await slowOffice({ waitMs: 600_000 });
  const running = explain();
  await expect.poll(() => waiting.length).toBe(1);
  const searches = [
    { path: "/admin/v1/search", query: { text: "a" } },
    { path: "/admin/v1/audit", query: { text: "a" } },
    { path: "/admin/v1/grants", query: { state: "live" } },
    { path: "/admin/v1/principals", query: { search: "a" } },
  ];
  const flood = searches.map(({ path, query }) => office.get(path, { namespaceId, ...query }));
  await expect.poll(() => office.reports.waiting).toBe(4);
  for (const { path, query } of searches) {
    const { status, headers } = await office.get(path, { namespaceId, ...query });
    expect([path, status, headers.get("retry-after")]).toEqual([path, 429, "600"]);
  }
  for (const path of ["/admin/v1/audit", "/admin/v1/grants", "/admin/v1/principals"])
    expect((await office.get(path, { namespaceId })).status).toBe(200);
  const tenant = newTenant();
  const readElsewhere = await office.getAs(bob, tenant);
  await office.stores.grants.issue(grant("grant-1", { namespaceId: tenant }));
  for (const { path, query } of searches)
    expect((await readElsewhere(path, { namespaceId: tenant, ...query })).status).toBe(200);
  waiting[0]?.();
  expect((await Promise.all([running, ...flood])).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
});

test("a caller who hangs up while waiting frees the place", async () => {
  const { office, namespaceId, waiting, explain } = await slowOffice();
  const first = explain();
  await expect.poll(() => waiting.length).toBe(1);
  const leaving = new AbortController();
  const left = office.handler(
    new Request("http://host/admin/v1/explanations", {
      method: "POST",
      headers: { authorization: `Bearer ${office.tokens.operator}` },
      body: JSON.stringify({ namespaceId, ...act }),
      signal: leaving.signal,
    }),
  );
  const others = [explain(), explain(), explain()];
  await expect.poll(async () => (await explain()).status).toBe(429);
  leaving.abort();
  expect((await left)?.status).toBe(499);
  const next = explain();
  for (let place = 0; place < 5; place += 1) {
    await expect.poll(() => waiting.length).toBeGreaterThan(place);
    waiting[place]?.();
  }
  expect((await Promise.all([first, ...others, next])).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
});
