import { describe, expect, test } from "vitest";
import { alice, ask, assistant, capability, context, olivia, stranger, world } from "../../test/decisions.ts";
import { AuthorityRequestSchema, type AccessContext, type AuthorizationRequest } from "../contracts/index.ts";
import { mintAuthorityRequest, requiredAuthority } from "./required-authority.ts";

async function idOf(
  changes: Partial<AccessContext> = {},
  request: AuthorizationRequest = ask(),
): Promise<string | undefined> {
  return (await world([]).kernel.authorize(context(changes), request)).requiredAuthority?.id;
}

describe("the id of an ask", () => {
  const rows: { name: string; context?: Partial<AccessContext>; request?: AuthorizationRequest; same: boolean }[] = [
    { name: "is the same for the same ask", same: true },
    { name: "is the same at another time", context: { now: "2031-05-05T00:00:00Z" }, same: true },
    { name: "is the same in another trace", context: { traceId: "trace-2" }, same: true },
    { name: "is the same in an execution", context: { executionId: "execution-1" }, same: true },
    { name: "is the same whatever tools are switched on", context: { enabledToolNamespaces: ["mail"] }, same: true },
    {
      name: "is the same whatever the order of keys",
      request: { resource: { path: ["reports", "q1"], namespace: "documents" }, action: "read" },
      same: true,
    },
    { name: "differs by action", request: ask({ action: "write" }), same: false },
    { name: "differs by path", request: ask({ path: ["reports", "q2"] }), same: false },
    { name: "differs by where segments end", request: ask({ path: ["reports,q1"] }), same: false },
    { name: "differs by the order of segments", request: ask({ path: ["q1", "reports"] }), same: false },
    { name: "differs by namespace", request: ask({ namespace: "mail" }), same: false },
    { name: "differs by purpose", context: { purpose: "billing" }, same: false },
    { name: "differs by actor", context: { actor: { kind: "agent", agentId: "other" } }, same: false },
    {
      name: "differs by the kind of actor",
      context: { actor: { kind: "service", serviceId: "assistant" } },
      same: false,
    },
    { name: "differs by owner", context: { owner: stranger }, same: false },
    { name: "differs by tenant", context: { namespaceId: "tenant-2" }, same: false },
  ];
  for (const row of rows) {
    test(`${row.name}`, async () => {
      const [one, other] = [await idOf(), await idOf(row.context, row.request)];
      expect(one).toMatch(/^[0-9a-f]{64}$/);
      expect(other).toMatch(/^[0-9a-f]{64}$/);
      expect(one === other).toBe(row.same);
    });
  }
});

describe("a required authority", () => {
  test("asks for one capability, exactly there, for the context's purpose", async () => {
    const made = await requiredAuthority(context(), ask());
    expect(made).toEqual({
      id: made.id,
      namespaceId: "tenant-1",
      owner: olivia,
      requester: assistant,
      purpose: "reporting",
      requestedAt: "2026-01-01T12:00:00Z",
      capabilities: [
        { resource: { namespace: "documents", path: ["reports", "q1"] }, actions: ["read"], scope: "exact" },
      ],
    });
    expect(AuthorityRequestSchema.safeParse(made).success).toBe(true);
  });

  test("is what was asked when it is granted", async () => {
    const { capabilities } = await requiredAuthority(context(), ask());
    const held = {
      id: "consented",
      namespaceId: "tenant-1",
      subject: assistant,
      issuer: alice,
      capabilities,
      constraints: {},
      issuedAt: "2026-01-01T12:00:00Z",
    };
    const { kernel } = world([held]);
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("consented");
    expect((await kernel.authorize(context(), ask({ path: ["reports", "q1", "page"] }))).allowed).toBe(false);
    expect((await kernel.authorize(context(), ask({ action: "write" }))).allowed).toBe(false);
  });
});

describe("a minted authority request", () => {
  const wanted = { capabilities: [capability(), capability({ namespace: "mail", actions: ["send"] })] };

  async function mint(extra: object): Promise<string> {
    return (await mintAuthorityRequest(context(), { ...wanted, ...extra })).id;
  }

  test("carries what is asked for, and who asks is the context's", async () => {
    const made = await mintAuthorityRequest(context(), {
      ...wanted,
      constraints: { maxUses: 3 },
      metadata: { note: "please" },
    });
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{64}$/),
      namespaceId: "tenant-1",
      owner: olivia,
      requester: assistant,
      purpose: "reporting",
      requestedAt: "2026-01-01T12:00:00Z",
      capabilities: wanted.capabilities,
      constraints: { maxUses: 3 },
      metadata: { note: "please" },
    });
    expect(AuthorityRequestSchema.safeParse(made).success).toBe(true);
  });

  test("leaves out what was not asked for", async () => {
    const made = await mintAuthorityRequest(context(), wanted);
    expect(made).not.toHaveProperty("constraints");
    expect(made).not.toHaveProperty("metadata");
  });

  test("has another id for other constraints, and the same for other metadata", async () => {
    const plain = await mint({});
    expect(await mint({ constraints: { maxUses: 1 } })).not.toBe(plain);
    expect(await mint({ constraints: { maxUses: 2 } })).not.toBe(await mint({ constraints: { maxUses: 1 } }));
    expect(await mint({ metadata: { note: "please" } })).toBe(plain);
    expect(await mint({ constraints: undefined })).toBe(plain);
  });
});
