import { expect, test } from "vitest";
import {
  agent,
  alice,
  bob,
  capability,
  contextOf,
  descriptorOf,
  fails,
  grantOf,
  needs,
  noteTool,
  portSecret,
  refusingAudit,
  rejection,
  untyped,
  worldOf,
} from "../../test/deployment.ts";
import {
  ToolCatalogSchema,
  type AccessContext,
  type DiscoveryContext,
  type Grant,
  type ToolDescriptor,
} from "../contracts/index.ts";
import { KernelError } from "./kernel-error.ts";
import type { KernelOptions } from "./ports.ts";

const tools = [noteTool()];

async function visible(grants: readonly Grant[], context: DiscoveryContext = contextOf()): Promise<string[]> {
  const listed = await worldOf({ grants, tools }).kernel.listTools(context);
  return listed.map((tool) => tool.name);
}

for (const row of [
  {
    name: "registered, enabled and granted",
    tools,
    enabled: ["files"],
    grants: [grantOf("grant-1")],
    shown: ["files.read"],
  },
  {
    name: "enabled and granted, but not registered",
    tools: [],
    enabled: ["files"],
    grants: [grantOf("grant-1")],
    shown: [],
  },
  { name: "registered and granted, but not enabled", tools, enabled: [], grants: [grantOf("grant-1")], shown: [] },
  {
    name: "registered and granted in a namespace that is enabled only by prefix",
    tools,
    enabled: ["file", "files.read"],
    grants: [grantOf("grant-1")],
    shown: [],
  },
  { name: "registered and enabled, but not granted", tools, enabled: ["files"], grants: [], shown: [] },
]) {
  test(`a tool that is ${row.name} is ${row.shown.length > 0 ? "listed" : "not listed"}`, async () => {
    const { kernel } = worldOf({ tools: row.tools, grants: row.grants });
    const listed = await kernel.listTools(contextOf({ enabledToolNamespaces: row.enabled }));
    expect(listed.map((tool) => tool.name)).toStrictEqual(row.shown);
  });
}

// The tool's ceiling is files / ["notes"] / read.
for (const row of [
  { name: "above it, with everything below", grant: capability("files", [], "read"), shown: true },
  { name: "above it, exactly there", grant: capability("files", [], "read", { scope: "exact" }), shown: false },
  { name: "at it, with everything below", grant: capability("files", ["notes"], "read"), shown: true },
  { name: "at it, exactly there", grant: capability("files", ["notes"], "read", { scope: "exact" }), shown: true },
  { name: "below it, with everything below", grant: capability("files", ["notes", "2026"], "read"), shown: true },
  {
    name: "below it, exactly there",
    grant: capability("files", ["notes", "2026", "today"], "read", { scope: "exact" }),
    shown: true,
  },
  { name: "beside it", grant: capability("files", ["photos"], "read"), shown: false },
  { name: "beside it with a shared prefix", grant: capability("files", ["notes2"], "read"), shown: false },
  { name: "at its path in another resource namespace", grant: capability("mail", ["notes"], "read"), shown: false },
  { name: "at it for another action", grant: capability("files", ["notes"], "write"), shown: false },
  { name: "at it for every action", grant: capability("files", ["notes"], "*"), shown: true },
  {
    name: "at it for the context's owner by name",
    grant: capability("files", ["notes"], "read", { owner: alice }),
    shown: true,
  },
  { name: "at it for another owner", grant: capability("files", ["notes"], "read", { owner: bob }), shown: false },
]) {
  test(`a grant ${row.name} ${row.shown ? "shows" : "hides"} the tool with that ceiling`, async () => {
    const shown = await visible([grantOf("grant-1", { capabilities: [row.grant] })]);
    expect(shown).toStrictEqual(row.shown ? ["files.read"] : []);
  });
}

for (const row of [
  { name: "the context's owner", owner: alice, shown: 1 },
  { name: "another owner", owner: bob, shown: 0 },
]) {
  test(`a tool whose ceiling names ${row.name} is listed ${row.shown} times`, async () => {
    const { action, resource } = needs("notes");
    const tool = noteTool({
      descriptor: descriptorOf({ requiredCapability: { action, resource: { ...resource, owner: row.owner } } }),
    });
    const grants = [
      grantOf("grant-1"),
      grantOf("grant-2", { capabilities: [capability("files", [], "*", { owner: row.owner })] }),
    ];
    expect(await worldOf({ tools: [tool], grants }).kernel.listTools(contextOf())).toHaveLength(row.shown);
  });
}

const parent = grantOf("parent", { subject: alice, issuer: bob, constraints: { delegationDepth: 1 } });
const child = grantOf("child", { parentId: "parent", constraints: { delegationDepth: 0 } });

for (const row of [
  { name: "a live grant", grants: [grantOf("grant-1")], shown: true },
  {
    name: "a grant revoked before now",
    grants: [grantOf("grant-1", { revokedAt: "2026-01-01T11:59:59Z" })],
    shown: false,
  },
  {
    name: "a grant revoked right now",
    grants: [grantOf("grant-1", { revokedAt: "2026-01-01T12:00:00Z" })],
    shown: false,
  },
  {
    name: "a grant that is revoked later",
    grants: [grantOf("grant-1", { revokedAt: "2026-01-01T12:00:01Z" })],
    shown: true,
  },
  {
    name: "a grant that expires right now",
    grants: [grantOf("grant-1", { constraints: { expiresAt: "2026-01-01T12:00:00Z" } })],
    shown: false,
  },
  {
    name: "a grant that expires later",
    grants: [grantOf("grant-1", { constraints: { expiresAt: "2026-01-01T12:00:01Z" } })],
    shown: true,
  },
  {
    name: "a grant that starts later",
    grants: [grantOf("grant-1", { constraints: { notBefore: "2026-01-01T12:00:01Z" } })],
    shown: false,
  },
  {
    name: "a grant that starts right now",
    grants: [grantOf("grant-1", { constraints: { notBefore: "2026-01-01T12:00:00Z" } })],
    shown: true,
  },
  { name: "a grant issued later", grants: [grantOf("grant-1", { issuedAt: "2026-01-01T12:00:01Z" })], shown: false },
  {
    name: "a grant for this purpose",
    grants: [grantOf("grant-1", { constraints: { purposes: ["help"] } })],
    shown: true,
  },
  {
    name: "a grant for another purpose",
    grants: [grantOf("grant-1", { constraints: { purposes: ["spy"] } })],
    shown: false,
  },
  { name: "a derived grant with its parent", grants: [parent, child], shown: true },
  { name: "a derived grant whose parent is missing", grants: [child], shown: false },
  {
    name: "a derived grant whose parent is revoked",
    grants: [{ ...parent, revokedAt: "2026-01-01T11:00:00Z" }, child],
    shown: false,
  },
  {
    name: "a derived grant whose parent may not delegate",
    grants: [{ ...parent, constraints: {} }, child],
    shown: false,
  },
]) {
  test(`${row.name} ${row.shown ? "shows" : "hides"} the tool`, async () => {
    expect(await visible(row.grants)).toStrictEqual(row.shown ? ["files.read"] : []);
  });
}

for (const row of [
  { name: "has a use left", used: 1, others: [], shown: ["files.read"] },
  { name: "is spent", used: 2, others: [], shown: [] },
  { name: "is spent beside an unbounded one", used: 2, others: [grantOf("grant-2")], shown: ["files.read"] },
]) {
  test(`a bounded grant that ${row.name} makes the list ${JSON.stringify(row.shown)}, and listing takes no use`, async () => {
    const { kernel, usage } = worldOf({
      tools,
      grants: [grantOf("grant-1", { constraints: { maxUses: 2 } }), ...row.others],
    });
    for (let use = 0; use < row.used; use += 1) await usage.consume("demo", "grant-1", 2);
    expect((await kernel.listTools(contextOf())).map((tool) => tool.name)).toStrictEqual(row.shown);
    expect(await usage.used("demo", "grant-1")).toBe(row.used);
  });
}

test("a context without authority lists by the grants of every issuer; one with authority only by that issuer's", async () => {
  const { authority: _open, ...open } = contextOf();
  const grants = [grantOf("grant-1", { issuer: bob })];
  expect(await visible(grants, open)).toStrictEqual(["files.read"]);
  expect(await visible(grants, contextOf({ authority: bob }))).toStrictEqual(["files.read"]);
  expect(await visible(grants, contextOf({ authority: alice }))).toStrictEqual([]);
});

test("a grant of another tenant or to another actor shows nothing", async () => {
  expect(await visible([grantOf("grant-1", { namespaceId: "elsewhere" })])).toStrictEqual([]);
  expect(await visible([grantOf("grant-1", { subject: bob })])).toStrictEqual([]);
  expect(await visible([grantOf("grant-1", { subject: agent })])).toStrictEqual(["files.read"]);
});

test("the list is sorted by name, by code unit and not by locale, and fits the contract", async () => {
  const names = ["files.b", "files.a", "files.Z", "files.a.b", "files.ä", "files.10", "files.9"];
  const { kernel } = worldOf({
    grants: [grantOf("grant-1")],
    tools: names.map((name) => noteTool({ name, descriptor: descriptorOf({ name }) })),
  });
  const listed = await kernel.listTools(contextOf());
  expect(listed.map((tool) => tool.name)).toStrictEqual([
    "files.10",
    "files.9",
    "files.Z",
    "files.a",
    "files.a.b",
    "files.b",
    "files.ä",
  ]);
  expect(ToolCatalogSchema.safeParse(listed).success).toBe(true);
});

test("the list shows descriptors as they were registered, and is frozen to its last leaf", async () => {
  const descriptor = descriptorOf({ annotations: { readOnly: true }, metadata: { since: [1] } });
  const { kernel } = worldOf({ grants: [grantOf("grant-1")], tools: [noteTool({ descriptor })] });
  const listed = await kernel.listTools(contextOf());
  expect(listed).toStrictEqual([descriptor]);
  expect(isDeeplyFrozen(listed)).toBe(true);
});

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

const bounded = grantOf("grant-1", { constraints: { maxUses: 1 } });

const unavailable: {
  name: string;
  grants: readonly Grant[];
  ports: Partial<Omit<KernelOptions, "grants">> & { source?: KernelOptions["grants"] };
  code: string;
}[] = [
  {
    name: "grants that cannot be loaded",
    grants: [],
    ports: { source: { load: fails } },
    code: "authority_unavailable",
  },
  {
    name: "a grant of another subject",
    grants: [],
    ports: { source: { load: () => Promise.resolve([grantOf("grant-1", { subject: bob })]) } },
    code: "authority_unavailable",
  },
  {
    name: "a grant that does not fit the contract",
    grants: [],
    ports: { source: { load: () => Promise.resolve([untyped<Grant>({ id: "grant-1" })]) } },
    code: "authority_unavailable",
  },
  {
    name: "grants that are no array",
    grants: [],
    ports: { source: { load: () => Promise.resolve(untyped<Grant[]>({})) } },
    code: "authority_unavailable",
  },
  {
    name: "a usage store that fails",
    grants: [bounded],
    ports: { usage: { used: fails, consume: fails } },
    code: "authority_unavailable",
  },
  {
    name: "a usage store that answers nonsense",
    grants: [bounded],
    ports: { usage: { used: () => Promise.resolve(-1), consume: fails } },
    code: "authority_unavailable",
  },
  {
    name: "a chain that cannot be read",
    grants: [],
    ports: { source: { load: () => Promise.resolve([child]), find: fails } },
    code: "authority_unavailable",
  },
  {
    name: "a source that knows no chains",
    grants: [],
    ports: { source: { load: () => Promise.resolve([child]) } },
    code: "authority_unavailable",
  },
  {
    name: "an audit sink that refuses",
    grants: [grantOf("grant-1")],
    ports: { audit: refusingAudit(() => true) },
    code: "audit_unavailable",
  },
];

for (const row of unavailable) {
  test(`with ${row.name} there is no list at all but ${row.code}`, async () => {
    const error = await rejection(worldOf({ tools, grants: row.grants, ...row.ports }).kernel.listTools(contextOf()));
    expect(error).toBeInstanceOf(KernelError);
    expect(error).toMatchObject({ code: row.code });
    expect(String(error)).not.toContain(portSecret);
  });
}

test("without a usage store a bounded grant makes the list unavailable, and an unbounded one does not", async () => {
  expect(await listWithoutStore(grantOf("grant-1"))).toHaveLength(1);
  expect(await rejection(listWithoutStore(bounded))).toMatchObject({ code: "authority_unavailable" });
});

function listWithoutStore(grant: Grant): Promise<readonly ToolDescriptor[]> {
  return worldOf({ tools, grants: [grant], countsUses: false }).kernel.listTools(contextOf());
}

for (const row of [
  { name: "an empty actor", changes: { actor: { kind: "human", userId: "" } } },
  { name: "a time that is none", changes: { now: "noon" } },
  { name: "a key too many", changes: { grants: [] } },
]) {
  test(`a context with ${row.name} lists nothing but throws invalid_context`, async () => {
    const { kernel } = worldOf({ tools, grants: [grantOf("grant-1")] });
    const context = untyped<AccessContext>({ ...contextOf(), ...row.changes });
    expect(await rejection(kernel.listTools(context))).toMatchObject({ code: "invalid_context" });
  });
}

test("an aborted caller gets its own reason", async () => {
  const reason = new Error("the caller went away");
  const { kernel, events } = worldOf({ tools, grants: [grantOf("grant-1")] });
  expect(await rejection(kernel.listTools(contextOf(), { signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect(events).toStrictEqual([]);
});
