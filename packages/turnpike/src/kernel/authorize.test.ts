import { describe, expect, test } from "vitest";
import {
  alice,
  ask,
  assistant,
  capability,
  child,
  context,
  contextWithoutAuthority,
  grant,
  justAfter,
  justBefore,
  now,
  olivia,
  parent,
  stranger,
  untyped,
  world,
} from "../../test/decisions.ts";
import { memoryAudit, memoryGrants, memoryResources, memoryUsage } from "../testing/index.ts";
import { AuditEventSchema, type AccessContext, type AuthorizationRequest, type Grant } from "../contracts/index.ts";
import { createKernel } from "./kernel.ts";
import type { GrantSource } from "./ports.ts";

const allowed = { allowed: true, reasonCode: "allowed", matchedGrantId: "grant-1" };

describe("an embedded caller is refused like a remote one", () => {
  const contexts: { name: string; value: unknown }[] = [
    { name: "without an authority", value: contextWithoutAuthority() },
    { name: "without an actor", value: { ...context(), actor: undefined } },
    { name: "that is nothing", value: undefined },
    { name: "that is null", value: null },
    { name: "with an unknown key", value: { ...context(), grants: [grant()] } },
    { name: "with an actor of an unknown kind", value: { ...context(), actor: { kind: "root", rootId: "x" } } },
    { name: "with a day for a time", value: context({ now: "2026-01-01" }) },
    { name: "with an empty purpose", value: context({ purpose: "" }) },
    { name: "with an empty tenant", value: context({ namespaceId: "" }) },
    {
      name: "with more tool namespaces than there may be",
      value: context({ enabledToolNamespaces: Array<string>(257).fill("a") }),
    },
  ];
  for (const { name, value } of contexts) {
    test(`with a context ${name}: invalid_context, and no port is asked`, async () => {
      const { kernel } = world({ load: refuseToAnswer });
      expect(await kernel.authorize(untyped<AccessContext>(value), ask())).toEqual({
        allowed: false,
        reasonCode: "invalid_context",
      });
    });
  }

  const requests: { name: string; value: unknown }[] = [
    { name: "a path through `..`", value: ask({ path: ["reports", ".."] }) },
    { name: "a path through `.`", value: ask({ path: [".", "reports"] }) },
    { name: "a segment with a slash", value: ask({ path: ["reports/q1"] }) },
    { name: "a segment with a backslash", value: ask({ path: ["reports\\q1"] }) },
    { name: "a segment with a control character", value: ask({ path: ["reports\u0000"] }) },
    { name: "an empty segment", value: ask({ path: ["reports", ""] }) },
    { name: "a path that is a text", value: { ...ask(), resource: { namespace: "documents", path: "reports" } } },
    { name: "65 segments", value: ask({ path: Array<string>(65).fill("a") }) },
    { name: "an empty action", value: ask({ action: "" }) },
    { name: "an empty namespace", value: ask({ namespace: "" }) },
    { name: "an unknown key", value: { ...ask(), scope: "descendants" } },
    { name: "nothing", value: undefined },
    { name: "null", value: null },
    { name: "another owner than the context's", value: ask({ owner: stranger }) },
    { name: "the authority for an owner", value: ask({ owner: alice }) },
    { name: "an owner of another kind with the same id", value: ask({ owner: { kind: "agent", agentId: "olivia" } }) },
  ];
  for (const { name, value } of requests) {
    test(`with ${name}: invalid_request, and no port is asked`, async () => {
      const { kernel } = world({ load: refuseToAnswer });
      expect(await kernel.authorize(context(), untyped<AuthorizationRequest>(value))).toEqual({
        allowed: false,
        reasonCode: "invalid_request",
      });
    });
  }

  const fitting: { name: string; value: AuthorizationRequest }[] = [
    { name: "a segment of three dots", value: ask({ path: ["reports", "..."] }) },
    { name: "a segment that begins with a dot", value: ask({ path: ["reports", ".q1"] }) },
    { name: "a segment with a space", value: ask({ path: ["reports", "q 1"] }) },
    { name: "64 segments", value: ask({ path: ["reports", ...Array<string>(63).fill("a")] }) },
    { name: "the context's owner", value: ask({ owner: olivia }) },
  ];
  for (const { name, value } of fitting) {
    test(`but not with ${name}`, async () => {
      expect(await world([grant()]).kernel.authorize(context(), value)).toEqual(allowed);
    });
  }

  test("an invalid context is told before an invalid request", async () => {
    const { kernel } = world([grant()]);
    const decision = await kernel.authorize(context({ purpose: "" }), ask({ path: [".."] }));
    expect(decision.reasonCode).toBe("invalid_context");
  });

  test("an invalid request is told before an authority that cannot be read", async () => {
    const { kernel } = world({ load: () => Promise.reject(new Error("down")) });
    expect((await kernel.authorize(context(), ask({ path: [".."] }))).reasonCode).toBe("invalid_request");
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("authority_unavailable");
  });

  test("an invalid request is in the audit log, without what cannot be told", async () => {
    const { kernel, audit } = world([grant()]);
    await kernel.authorize(context(), ask({ owner: stranger }));
    expect(audit.events).toEqual([
      expect.objectContaining({ type: "authorization.checked", outcome: "denied", reason: "invalid_request" }),
    ]);
    expect(audit.events[0]).not.toHaveProperty("metadata");
  });
});

function refuseToAnswer(): Promise<readonly Grant[]> {
  throw new Error("This should not have been called.");
}

describe("authorize", () => {
  const rows: {
    name: string;
    held?: Partial<Grant>;
    context?: Partial<AccessContext>;
    request?: AuthorizationRequest;
    reasonCode: string;
  }[] = [
    { name: "allows what a grant covers", reasonCode: "allowed" },
    { name: "allows the path of the grant itself", request: ask({ path: ["reports"] }), reasonCode: "allowed" },
    {
      name: "allows far below the path of the grant",
      request: ask({ path: ["reports", "q1", "page", "7"] }),
      reasonCode: "allowed",
    },
    {
      name: "denies a sibling that shares a prefix",
      request: ask({ path: ["reports2"] }),
      reasonCode: "no_matching_grant",
    },
    { name: "denies what is above the grant", request: ask({ path: [] }), reasonCode: "no_matching_grant" },
    {
      name: "denies a path in other letters",
      request: ask({ path: ["Reports", "q1"] }),
      reasonCode: "no_matching_grant",
    },
    {
      name: "denies below an exact grant",
      held: { capabilities: [capability({ scope: "exact" })] },
      reasonCode: "no_matching_grant",
    },
    {
      name: "allows exactly at an exact grant",
      held: { capabilities: [capability({ scope: "exact", path: ["reports", "q1"] })] },
      reasonCode: "allowed",
    },
    { name: "denies another action", request: ask({ action: "write" }), reasonCode: "no_matching_grant" },
    {
      name: "allows any action of a wildcard",
      held: { capabilities: [capability({ actions: ["*"] })] },
      request: ask({ action: "purge" }),
      reasonCode: "allowed",
    },
    {
      name: "denies the wildcard itself where it is not granted",
      request: ask({ action: "*" }),
      reasonCode: "no_matching_grant",
    },
    { name: "denies another namespace", request: ask({ namespace: "mail" }), reasonCode: "no_matching_grant" },
    {
      name: "allows an owner that the grant names",
      held: { capabilities: [capability({ owner: olivia })] },
      reasonCode: "allowed",
    },
    {
      name: "denies when the grant names another owner",
      held: { capabilities: [capability({ owner: stranger })] },
      reasonCode: "no_matching_grant",
    },
    {
      name: "follows the context's owner where the grant names none",
      context: { owner: stranger },
      reasonCode: "allowed",
    },
    {
      name: "denies in the context of another owner than the grant names",
      held: { capabilities: [capability({ owner: olivia })] },
      context: { owner: stranger },
      reasonCode: "no_matching_grant",
    },
    {
      name: "denies another actor",
      context: { actor: { kind: "agent", agentId: "other" } },
      reasonCode: "no_matching_grant",
    },
    { name: "denies another authority", context: { authority: stranger }, reasonCode: "no_matching_grant" },
    { name: "denies another tenant", context: { namespaceId: "tenant-2" }, reasonCode: "no_matching_grant" },
    {
      name: "allows a purpose of the grant",
      held: { constraints: { purposes: ["reporting"] } },
      reasonCode: "allowed",
    },
    {
      name: "denies another purpose",
      held: { constraints: { purposes: ["billing"] } },
      reasonCode: "no_matching_grant",
    },
    { name: "allows a grant issued now", held: { issuedAt: now }, reasonCode: "allowed" },
    { name: "denies a grant issued later", held: { issuedAt: justAfter }, reasonCode: "no_matching_grant" },
    { name: "allows a grant valid from now", held: { constraints: { notBefore: now } }, reasonCode: "allowed" },
    {
      name: "denies a grant valid from later on",
      held: { constraints: { notBefore: justAfter } },
      reasonCode: "no_matching_grant",
    },
    {
      name: "allows a grant that expires later",
      held: { constraints: { expiresAt: justAfter } },
      reasonCode: "allowed",
    },
    {
      name: "denies a grant that expires now",
      held: { constraints: { expiresAt: now } },
      reasonCode: "no_matching_grant",
    },
    { name: "allows a grant revoked later", held: { revokedAt: justAfter }, reasonCode: "allowed" },
    { name: "denies a grant revoked now", held: { revokedAt: now }, reasonCode: "no_matching_grant" },
    { name: "denies a grant revoked before", held: { revokedAt: justBefore }, reasonCode: "no_matching_grant" },
    {
      name: "reads the offset of the context's time",
      held: { constraints: { notBefore: now } },
      context: { now: "2026-01-01T13:59:59+02:00" },
      reasonCode: "no_matching_grant",
    },
    {
      name: "reads the offset of the context's time, a second later",
      held: { constraints: { notBefore: now } },
      context: { now: "2026-01-01T14:00:00+02:00" },
      reasonCode: "allowed",
    },
    {
      name: "compares instants, not texts",
      held: { constraints: { expiresAt: "2026-01-01T06:00:00-06:00" } },
      reasonCode: "no_matching_grant",
    },
    {
      name: "compares instants, not texts, a second later",
      held: { constraints: { expiresAt: "2026-01-01T06:00:01-06:00" } },
      reasonCode: "allowed",
    },
  ];
  for (const row of rows) {
    test(`${row.name}`, async () => {
      const { kernel } = world([grant(row.held)]);
      const decision = await kernel.authorize(context(row.context), row.request ?? ask());
      expect(decision).toMatchObject({ allowed: row.reasonCode === "allowed", reasonCode: row.reasonCode });
    });
  }

  test("says no more than that it is allowed, and by which grant", async () => {
    expect(await world([grant({ metadata: { secret: 1 } })]).kernel.authorize(context(), ask())).toEqual(allowed);
  });

  test("grants nothing for what a grant's metadata says", async () => {
    const { kernel } = world([
      grant({ capabilities: [capability({ namespace: "mail" })], metadata: { actions: ["*"] } }),
    ]);
    expect((await kernel.authorize(context(), ask())).allowed).toBe(false);
  });

  test("is decided on the request and the context as they were when they came", async () => {
    const request = ask();
    const asking = context();
    const { kernel } = world({
      load() {
        request.resource.path.push("..");
        request.action = "purge";
        asking.purpose = "mischief";
        return Promise.resolve([grant({ constraints: { purposes: ["reporting"] } })]);
      },
    });
    expect(await kernel.authorize(asking, request)).toEqual(allowed);
  });
});

describe("the required authority of a denial", () => {
  const required = {
    namespaceId: "tenant-1",
    owner: olivia,
    requester: assistant,
    purpose: "reporting",
    requestedAt: "2026-01-01T12:00:00Z",
    capabilities: [
      { resource: { namespace: "documents", path: ["reports", "q1"] }, actions: ["read"], scope: "exact" },
    ],
  };

  test("restates exactly what was asked", async () => {
    expect(await world([]).kernel.authorize(context(), ask())).toEqual({
      allowed: false,
      reasonCode: "no_matching_grant",
      requiredAuthority: { id: expect.stringMatching(/^[0-9a-f]{64}$/), ...required },
    });
  });

  test("restates the owner when it was named", async () => {
    const { requiredAuthority } = await world([]).kernel.authorize(context(), ask({ owner: olivia }));
    expect(requiredAuthority?.capabilities[0]?.resource).toEqual({
      namespace: "documents",
      owner: olivia,
      path: ["reports", "q1"],
    });
  });

  test("restates what was asked when it came, not what the caller made of it since", async () => {
    const request = ask();
    const { kernel } = world({
      load() {
        request.action = "purge";
        request.resource.path = [];
        return Promise.resolve([]);
      },
    });
    expect((await kernel.authorize(context(), request)).requiredAuthority).toMatchObject(required);
  });

  test("says nothing of which grants exist", async () => {
    const worlds = [
      world([]),
      world([grant({ revokedAt: now })]),
      world([grant({ capabilities: [capability({ path: ["reports", "q1"], actions: ["write"] })] })]),
    ];
    const answers = await Promise.all(worlds.map(({ kernel }) => kernel.authorize(context(), ask())));
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  test("is absent from every other answer of authorize", async () => {
    const spent = memoryUsage();
    await spent.consume("tenant-1", "grant-1", 1);
    const bounded = grant({ constraints: { maxUses: 1 } });
    const unread: GrantSource = { load: () => Promise.resolve([child()]) };
    const answers = [
      await world([grant()]).kernel.authorize(context(), ask()),
      await world([]).kernel.authorize(context({ purpose: "" }), ask()),
      await world([]).kernel.authorize(context(), ask({ path: [".."] })),
      await world({ load: () => Promise.reject(new Error("down")) }).kernel.authorize(context(), ask()),
      await world([bounded], { usage: spent }).kernel.authorize(context(), ask()),
      await world([bounded], { usage: "none" }).kernel.authorize(context(), ask()),
      await world([grant()], { policy: { narrow: () => ({}) } }).kernel.authorize(context(), ask()),
      await world([grant()], { policy: { narrow: () => untyped(1) } }).kernel.authorize(context(), ask()),
      await world([child()]).kernel.authorize(context(), ask()),
      await world(unread).kernel.authorize(context(), ask()),
      await createKernel({
        grants: memoryGrants(),
        audit: { record: () => Promise.reject(new Error("full")) },
      }).authorize(context(), ask()),
    ];
    expect(answers.map(({ reasonCode }) => reasonCode)).toEqual([
      "allowed",
      "invalid_context",
      "invalid_request",
      "authority_unavailable",
      "grant_exhausted",
      "usage_store_unavailable",
      "host_policy_denied",
      "host_policy_unavailable",
      "delegation_chain_invalid",
      "delegation_chain_unverified",
      "audit_unavailable",
    ]);
    expect(answers.filter((answer) => "requiredAuthority" in answer)).toEqual([]);
  });

  test("is absent from an execution that no grant covers", async () => {
    const { kernel } = world([], { resources: [memoryResources("documents")] });
    const result = await kernel.invokeResource(context(), { operationId: "operation-1", ...ask() });
    expect(result).toMatchObject({ status: "denied", error: { code: "no_matching_grant" } });
    expect(JSON.stringify(result)).not.toContain("requester");
  });
});

describe("the audit log of authorize", () => {
  const about = {
    id: expect.any(String),
    version: 1,
    type: "authorization.checked",
    at: "2026-01-01T12:00:00Z",
    traceId: "trace-1",
    namespaceId: "tenant-1",
    actor: assistant,
    authority: alice,
    owner: olivia,
    purpose: "reporting",
    resource: { namespace: "documents", path: ["reports", "q1"] },
    action: "read",
  };

  test("has one event for an allowed act, with its grant", async () => {
    const { kernel, audit } = world([grant()]);
    await kernel.authorize(context({ executionId: "execution-1" }), ask());
    expect(audit.events).toEqual([{ ...about, executionId: "execution-1", outcome: "allowed", grantId: "grant-1" }]);
    expect(AuditEventSchema.safeParse(audit.events[0]).success).toBe(true);
  });

  test("has one event for a denied act, with its reason", async () => {
    const { kernel, audit } = world([]);
    await kernel.authorize(context(), ask());
    expect(audit.events).toEqual([
      { ...about, outcome: "denied", reason: "no_matching_grant", metadata: { grants: [] } },
    ]);
    expect(AuditEventSchema.safeParse(audit.events[0]).success).toBe(true);
  });

  test("has one event when the grants cannot be read, without metadata", async () => {
    const { kernel, audit } = world({ load: () => Promise.reject(new Error("down")) });
    await kernel.authorize(context(), ask());
    expect(audit.events).toEqual([{ ...about, outcome: "denied", reason: "authority_unavailable" }]);
  });

  for (const row of [
    { name: "an allowed act", held: [grant()] },
    { name: "a denied act", held: [] },
  ]) {
    test(`denies ${row.name} that the sink refuses, and the operator hears why`, async () => {
      const told: unknown[] = [];
      const kernel = createKernel({
        grants: memoryGrants(row.held),
        audit: { record: () => Promise.reject(new Error("disk full")) },
        onAuditError: (error) => told.push(String(error)),
      });
      expect(await kernel.authorize(context(), ask())).toEqual({ allowed: false, reasonCode: "audit_unavailable" });
      expect(told).toEqual(["Error: disk full"]);
    });
  }

  test("is not stored when the host chose none, and decisions are the same", async () => {
    const kernel = createKernel({ grants: memoryGrants([grant()]), audit: "none" });
    expect(await kernel.authorize(context(), ask())).toEqual(allowed);
    expect((await kernel.authorize(context(), ask({ action: "write" }))).reasonCode).toBe("no_matching_grant");
  });
});

describe("an aborted authorize", () => {
  const reason = new Error("the caller left");

  test("rejects with the signal's own reason, and no port was called", async () => {
    const called: string[] = [];
    const kernel = createKernel({
      grants: {
        load() {
          called.push("load");
          return Promise.resolve([grant()]);
        },
      },
      policy: {
        narrow() {
          called.push("narrow");
          return undefined;
        },
      },
      audit: {
        record() {
          called.push("record");
          return Promise.resolve();
        },
      },
      onPortError: () => called.push("onPortError"),
    });
    await expect(kernel.authorize(context(), ask(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(
      kernel.authorize(context(), ask({ path: [".."] }), { signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
    expect(called).toEqual([]);
  });

  test("that is an execution has no effect and spends no use", async () => {
    const documents = memoryResources("documents");
    const { kernel, usage, audit } = world([grant({ constraints: { maxUses: 1 } })], { resources: [documents] });
    const operation = { operationId: "operation-1", ...ask() };
    await expect(kernel.invokeResource(context(), operation, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(documents.operations).toEqual([]);
    expect(audit.events).toEqual([]);
    expect(await usage.used("tenant-1", "grant-1")).toBe(0);
  });

  /** Aborts in the middle of one port's answer, after which the port answers or fails. */
  function abortIn(
    port: "load" | "find" | "used" | "record",
    ending: "answers" | "fails",
  ): Promise<unknown> & { told: unknown[] } {
    const controller = new AbortController();
    const told: unknown[] = [];
    const held = memoryGrants([child({ constraints: { maxUses: 1 } }), parent()]);
    const usage = memoryUsage();
    const sink = memoryAudit();
    const at = async <T>(name: string, answer: Promise<T>): Promise<T> => {
      if (name !== port) return answer;
      controller.abort(reason);
      if (ending === "fails") throw new Error("the port noticed");
      return answer;
    };
    const kernel = createKernel({
      grants: {
        load: (scope, signal) => at("load", held.load(scope, signal)),
        find: (namespaceId, id) => at("find", held.find(namespaceId, id)),
      },
      usage: { ...usage, used: (namespaceId, id) => at("used", usage.used(namespaceId, id)) },
      audit: { record: (event) => at("record", sink.record(event)) },
      onPortError: (error) => told.push(error),
    });
    return Object.assign(kernel.authorize(context(), ask(), { signal: controller.signal }), { told });
  }

  for (const port of ["load", "find", "used", "record"] as const) {
    for (const ending of ["answers", "fails"] as const) {
      test(`in the middle of ${port}, which ${ending}, rejects with the signal's own reason`, async () => {
        const running = abortIn(port, ending);
        await expect(running).rejects.toBe(reason);
        expect(running.told).toEqual([]);
      });
    }
  }

  test("that aborts while grants are loaded for an execution spends no use and has no effect", async () => {
    const controller = new AbortController();
    const documents = memoryResources("documents");
    const source: GrantSource = {
      load() {
        controller.abort(reason);
        return Promise.resolve([grant({ constraints: { maxUses: 1 } })]);
      },
    };
    const { kernel, usage, audit } = world(source, { resources: [documents] });
    const operation = { operationId: "operation-1", ...ask() };
    await expect(kernel.invokeResource(context(), operation, { signal: controller.signal })).rejects.toBe(reason);
    expect(documents.operations).toEqual([]);
    expect(audit.events).toEqual([]);
    expect(await usage.used("tenant-1", "grant-1")).toBe(0);
  });

  test("that the policy aborts in an execution spends no use", async () => {
    const controller = new AbortController();
    const { kernel, usage } = world([grant({ constraints: { maxUses: 1 } })], {
      resources: [memoryResources("documents")],
      policy: {
        narrow() {
          controller.abort(reason);
          return undefined;
        },
      },
    });
    const operation = { operationId: "operation-1", ...ask() };
    await expect(kernel.invokeResource(context(), operation, { signal: controller.signal })).rejects.toBe(reason);
    expect(await usage.used("tenant-1", "grant-1")).toBe(0);
  });

  test("rejects even when the context does not fit", async () => {
    const { kernel } = world([]);
    await expect(kernel.authorize(context({ purpose: "" }), ask(), { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
  });

  test("is an answer like any other when its signal never fires", async () => {
    const { signal } = new AbortController();
    expect(await world([grant()]).kernel.authorize(context(), ask(), { signal })).toEqual(allowed);
    expect(await world([grant()]).kernel.authorize(context(), ask(), { signal: undefined })).toEqual(allowed);
    expect(await world([grant()]).kernel.authorize(context(), ask(), {})).toEqual(allowed);
  });
});
