import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  agent,
  alice,
  bob,
  callOf,
  capability,
  contextOf,
  fails,
  grantOf,
  later,
  noteTool,
  now,
  portSecret,
  runAgent,
  said,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import { never } from "../../test/turns.ts";
import type { AccessContext, Grant } from "../contracts/index.ts";
import { memoryAccess } from "../testing/index.ts";
import type { AccessGuard } from "./ports.ts";
import type { TurnScope } from "./turn-scope.ts";

const { signal } = new AbortController();
const run = grantOf("run", { capabilities: [runAgent] });
const work = grantOf("work", {
  capabilities: [capability("files", ["notes"], "read"), capability("service", ["escalation"], "request")],
});
const everywhere = contextOf({ enabledToolNamespaces: ["files", "mail", "service"] });
const tools = (): ReturnType<typeof noteTool>[] => [noteTool(), noteTool({ name: "mail.find" })];

async function admit({ kernel }: World, context: AccessContext = everywhere): Promise<TurnScope> {
  const admission = await kernel.admitTurn(context, { agent });
  if (admission.kind === "refused") throw new Error(`refused: ${admission.reason}`);
  return admission.scope;
}

/** What a call of each tool and an escalation are answered. */
async function answers(scope: TurnScope, at = later): Promise<Record<string, string>> {
  const read = await scope.invokeTool(callOf(), at, signal);
  const find = await scope.invokeTool(callOf({ id: "call-2", tool: "mail.find" }), at, signal);
  const escalation = await scope.escalate({ reason: "May I?" }, at, signal);
  return {
    "files.read": said(read),
    "mail.find": said(find),
    escalation: escalation.kind === "refused" ? escalation.reason : escalation.kind,
  };
}

const allowed = { "files.read": "succeeded", "mail.find": "succeeded", escalation: "pending" };
const refused = (code: string) => ({ "files.read": code, "mail.find": code, escalation: code });

describe("the access that a turn was admitted with can only shrink", () => {
  const rows: { name: string; on?: readonly string[]; context?: AccessContext; said: Record<string, string> }[] = [
    { name: "nothing happens", said: allowed },
    {
      name: "the namespaces that are on come in another order, with others",
      on: ["x", "service", "mail", "files"],
      said: allowed,
    },
    {
      name: "a namespace is switched off",
      on: ["files", "service"],
      said: { ...allowed, "mail.find": "tool_unavailable" },
    },
    {
      name: "the namespace of the escalation is switched off",
      on: ["files", "mail"],
      said: { ...allowed, escalation: "tool_unavailable" },
    },
    {
      name: "a namespace is switched on that was off at admission",
      context: contextOf({ enabledToolNamespaces: ["files", "service"] }),
      on: ["files", "mail", "service"],
      said: { ...allowed, "mail.find": "tool_unavailable" },
    },
    { name: "everything is switched off", on: [], said: refused("tool_unavailable") },
  ];
  for (const { name, on, context = everywhere, said: expected } of rows) {
    test(`${name}: ${Object.values(expected).join(", ")}`, async () => {
      const access = memoryAccess();
      const world = worldOf({ grants: [run, work], tools: tools(), access });
      const scope = await admit(world, context);
      if (on !== undefined) access.switchTo(context, on);
      expect(await answers(scope)).toStrictEqual(expected);
      expect(scope.mustEnd).toBeUndefined();
    });
  }

  test("a namespace that is switched off is in the audit log as that, for calls and escalations alike", async () => {
    const access = memoryAccess();
    const world = worldOf({ grants: [run, work], tools: tools(), access });
    const scope = await admit(world);
    access.switchTo(everywhere, []);
    await answers(scope);
    const hidden = world.events.filter(({ reason }) => reason === "tool_unavailable");
    expect(hidden.map(({ type, metadata }) => [type, metadata?.["hidden"]])).toStrictEqual([
      ["tool.invoked", "namespace-disabled"],
      ["tool.invoked", "namespace-disabled"],
      ["authorization.checked", "namespace-disabled"],
    ]);
  });

  test("a revoked access stops every further call and escalation, is in the audit log, and must end the turn", async () => {
    const access = memoryAccess();
    const world = worldOf({ grants: [run, work], tools: tools(), access });
    const scope = await admit(world);
    expect(said(await scope.invokeTool(callOf({ id: "call-0" }), now, signal))).toBe("succeeded");
    access.revoke(everywhere);
    const recorded = world.events.length;
    expect(await answers(scope)).toStrictEqual(refused("credential_revoked"));
    expect(scope.mustEnd).toBe("credential_revoked");
    expect(world.events.slice(recorded)).toMatchObject([
      {
        type: "authorization.checked",
        outcome: "denied",
        resource: { namespace: "service.execution", path: ["agent", "helper"] },
        action: "invoke",
        reason: "credential_revoked",
        metadata: { access: "revoked" },
      },
      { type: "tool.invoked", outcome: "denied", operationId: "call-1", reason: "credential_revoked" },
      { type: "authorization.checked", reason: "credential_revoked" },
      { type: "tool.invoked", operationId: "call-2", reason: "credential_revoked" },
      { type: "authorization.checked", reason: "credential_revoked" },
    ]);
  });

  test("an access that was revoked does not come back in the turn", async () => {
    let isActive = false;
    const access: AccessGuard = {
      check: ({ enabledToolNamespaces }) =>
        Promise.resolve(isActive ? { isActive, enabledToolNamespaces } : { isActive }),
    };
    const scope = await admit(worldOf({ grants: [run, work], tools: tools(), access }));
    expect(await answers(scope)).toStrictEqual(refused("credential_revoked"));
    isActive = true;
    expect(await answers(scope)).toStrictEqual(refused("credential_revoked"));
  });

  test("a call that was admitted before the revocation was noticed has no effect after it", async () => {
    const access = memoryAccess();
    const tool = noteTool();
    let recorded = (): void => {};
    const audit = {
      record: ({ type, at }: { type: string; at: string }) =>
        type === "authorization.checked" && at === now && recorded !== undefined
          ? new Promise<void>((resolve) => (recorded = resolve))
          : Promise.resolve(),
    };
    const world = worldOf({ grants: [run, work], tools: [tool], access, audit });
    const admitting = admit(world);
    for (let tick = 0; tick < 50; tick += 1) await undefined;
    recorded();
    const scope = await admitting;
    const calling = scope.invokeTool(callOf(), now, signal);
    for (let tick = 0; tick < 50; tick += 1) await undefined;
    access.revoke(everywhere);
    await scope.checkAccess(later, signal);
    recorded();
    expect(said(await calling)).toBe("credential_revoked");
    expect(tool.calls).toStrictEqual([]);
  });

  test("between calls the access is asked for too, and only a revocation says anything", async () => {
    const access = memoryAccess();
    const scope = await admit(worldOf({ grants: [run], access }));
    await scope.checkAccess(now, signal);
    expect(scope.mustEnd).toBeUndefined();
    access.revoke(everywhere);
    await scope.checkAccess(now, signal);
    expect(scope.mustEnd).toBe("credential_revoked");
  });

  const enabledToolNamespaces = ["files"];
  const spelled: { answer: object; isAllowed: boolean }[] = [
    { answer: { isActive: true }, isAllowed: true },
    { answer: { isActive: false }, isAllowed: false },
    { answer: { stands: true }, isAllowed: true },
    { answer: { stands: false }, isAllowed: false },
    { answer: { isActive: true, stands: true }, isAllowed: true },
    { answer: { isActive: true, stands: false }, isAllowed: false },
    { answer: { isActive: false, stands: true }, isAllowed: false },
    { answer: { isActive: false, stands: false }, isAllowed: false },
    { answer: { isActive: "yes", stands: false }, isAllowed: false },
    { answer: { isActive: false, stands: "yes" }, isAllowed: false },
  ];
  for (const { answer, isAllowed } of spelled)
    test(`a guard that answers ${JSON.stringify(answer)} ${isAllowed ? "allows" : "revokes"} the call`, async () => {
      const check = (): ReturnType<AccessGuard["check"]> =>
        Promise.resolve(untyped<{ isActive: false }>({ ...answer, enabledToolNamespaces }));
      const tool = noteTool();
      const scope = await admit(worldOf({ grants: [run, work], tools: [tool], access: { check } }));
      const result = await scope.invokeTool(callOf(), now, signal);
      expect(result.status).toBe(isAllowed ? "succeeded" : "denied");
      expect([tool.calls.length, scope.mustEnd]).toStrictEqual(isAllowed ? [1, undefined] : [0, "credential_revoked"]);
    });

  test("the guard is asked at the instant of each call, for what was admitted", async () => {
    const asked: AccessContext[] = [];
    const access: AccessGuard = {
      check(context) {
        asked.push(context);
        return Promise.resolve({ isActive: true, enabledToolNamespaces: ["files"] });
      },
    };
    const scope = await admit(worldOf({ grants: [run, work], tools: tools(), access }));
    expect(asked).toStrictEqual([]);
    await answers(scope);
    expect(asked).toStrictEqual([1, 2, 3].map(() => ({ ...everywhere, now: later })));
  });
});

describe("a guard that cannot say so refuses the call, and tells the operator", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const answering = (answer: unknown) => (): ReturnType<AccessGuard["check"]> =>
    Promise.resolve(untyped<{ isActive: false }>(answer));
  const rows: { name: string; check: AccessGuard["check"] }[] = [
    { name: "rejects", check: fails },
    {
      name: "throws",
      check() {
        throw new Error(portSecret);
      },
    },
    { name: "never answers", check: never },
    { name: "answers nothing", check: answering(undefined) },
    { name: "answers null", check: answering(null) },
    { name: "answers true", check: answering(true) },
    { name: "answers without saying", check: answering({ enabledToolNamespaces: ["files"] }) },
    { name: "answers with something like true", check: answering({ isActive: 1, enabledToolNamespaces: ["files"] }) },
    { name: "answers without namespaces", check: answering({ isActive: true }) },
    {
      name: "answers with a text for namespaces",
      check: answering({ isActive: true, enabledToolNamespaces: "files" }),
    },
    {
      name: "answers with nonsense among them",
      check: answering({ isActive: true, enabledToolNamespaces: ["files", 7] }),
    },
    {
      name: "answers with something like true under the deprecated name",
      check: answering({ stands: 1, enabledToolNamespaces: ["files"] }),
    },
    {
      name: "answers with something like true under both names",
      check: answering({ isActive: "true", stands: 1, enabledToolNamespaces: ["files"] }),
    },
    ...["isActive", "stands"].map((field) => ({
      name: `answers with a field ${field} that throws`,
      check: answering(
        Object.defineProperty({}, field, {
          get() {
            throw new Error(portSecret);
          },
        }),
      ),
    })),
  ];
  for (const { name, check } of rows) {
    test(`one that ${name}`, async () => {
      const tool = noteTool();
      const world = worldOf({ grants: [run, work], tools: [tool], access: { check } });
      const scope = await admit(world);
      const answered = answers(scope);
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await answered).toStrictEqual(refused("authority_unavailable"));
      expect([tool.calls.length, scope.mustEnd]).toStrictEqual([0, undefined]);
      expect(world.portErrors.map(({ failure }) => failure)).toStrictEqual([
        { port: "access" },
        { port: "access" },
        { port: "access" },
      ]);
      expect(world.events.filter(({ metadata }) => metadata?.["access"] === "unavailable")).toHaveLength(3);
    });
  }
});

const parent = grantOf("parent", {
  subject: alice,
  issuer: bob,
  capabilities: [runAgent],
  constraints: { delegationDepth: 1 },
});
const derived = grantOf("run", { capabilities: [runAgent], parentId: "parent" });
const others = [capability("service.execution", ["agent", "other"], "invoke")];

interface AdmissionRow {
  name: string;
  before?: readonly Grant[];
  change?: (world: World) => void;
  code: string;
  why?: object;
}

describe("the grant that admitted a turn is checked again before each of its calls", () => {
  const rows: AdmissionRow[] = [
    { name: "it is as it was", code: "" },
    {
      name: "it is revoked",
      change: ({ grants }) => grants.revoke("demo", "run", "2026-01-01T12:05:00Z"),
      code: "no_matching_grant",
      why: { failed: "revoked" },
    },
    {
      name: "it is revoked from a later instant on",
      change: ({ grants }) => grants.revoke("demo", "run", "2026-01-01T12:10:01Z"),
      code: "",
    },
    {
      name: "it has expired",
      before: [{ ...run, constraints: { expiresAt: "2026-01-01T12:05:00Z" } }],
      code: "no_matching_grant",
      why: { failed: "expired" },
    },
    {
      name: "it is rewritten for another agent",
      change: ({ grants }) => grants.issue({ ...run, capabilities: others }),
      code: "no_matching_grant",
      why: { failed: "path" },
    },
    {
      name: "it is revoked and issued anew under the same id",
      change: ({ grants }) => grants.issue({ ...run, issuedAt: "2026-01-01T12:05:00Z" }),
      code: "no_matching_grant",
      why: { failed: "not-admitted" },
    },
    {
      name: "it is revoked, and another one for the same was there at admission",
      before: [run, grantOf("run-2", { capabilities: [runAgent] })],
      change: ({ grants }) => grants.revoke("demo", "run", "2026-01-01T12:05:00Z"),
      code: "no_matching_grant",
      why: { failed: "revoked" },
    },
    { name: "its only use was taken by the admission", before: [{ ...run, constraints: { maxUses: 1 } }], code: "" },
    {
      name: "its only use was taken by the admission, and other grants have changed since",
      before: [{ ...run, constraints: { maxUses: 1 } }],
      change: ({ grants }) => grants.issue(grantOf("other")),
      code: "",
    },
    {
      name: "its only use was taken, and it is revoked",
      before: [{ ...run, constraints: { maxUses: 1 } }],
      change: ({ grants }) => grants.revoke("demo", "run", "2026-01-01T12:05:00Z"),
      code: "no_matching_grant",
      why: { failed: "revoked" },
    },
    { name: "its chain is whole", before: [parent, derived], code: "" },
    {
      name: "its parent is revoked",
      before: [parent, derived],
      change: ({ grants }) => grants.revoke("demo", "parent", "2026-01-01T12:05:00Z"),
      code: "delegation_chain_invalid",
      why: { failed: "delegation_chain_invalid", rule: "parent_inactive" },
    },
    {
      name: "it is rewritten as a root",
      before: [parent, derived],
      change: ({ grants }) => grants.issue(grantOf("run", { capabilities: [runAgent] })),
      code: "no_matching_grant",
      why: { failed: "not-admitted" },
    },
  ];
  for (const { name, before = [run], change, code, why } of rows) {
    test(`${name}: ${code || "the call is made"}`, async () => {
      const world = worldOf({ grants: [...before, work], tools: tools() });
      const scope = await admit(world);
      change?.(world);
      const uses = await world.usage.used("demo", "run");
      expect(await answers(scope)).toStrictEqual(code === "" ? allowed : refused(code));
      expect(await world.usage.used("demo", "run")).toBe(uses);
      expect(scope.mustEnd).toBeUndefined();
      const told = world.events.filter(({ metadata }) => metadata?.["admission"] !== undefined);
      expect(told).toMatchObject(
        why === undefined
          ? []
          : [1, 2, 3].map(() => ({
              type: "authorization.checked",
              outcome: "denied",
              action: "invoke",
              reason: code,
              metadata: { admission: { grantId: "run", ...why } },
            })),
      );
    });
  }

  test("it is gone: no_matching_grant, and the audit log says that it is missing", async () => {
    let held = [run, work];
    const world = worldOf({ source: { load: () => Promise.resolve(held) }, tools: tools() });
    const scope = await admit(world);
    held = [work];
    expect(await answers(scope)).toStrictEqual(refused("no_matching_grant"));
    expect(world.events.find(({ metadata }) => metadata?.["admission"] !== undefined)?.metadata).toStrictEqual({
      admission: { grantId: "run", failed: "missing" },
    });
  });

  for (const row of [
    { name: "the grants", code: "authority_unavailable", find: () => Promise.resolve(parent), isLoaded: false },
    { name: "its chain", code: "delegation_chain_unverified", find: fails, isLoaded: true },
  ]) {
    test(`${row.name} cannot be read any more: ${row.code}`, async () => {
      let isDown = false;
      const world = worldOf({
        source: {
          load: () => (isDown && !row.isLoaded ? fails() : Promise.resolve([derived, work])),
          find: () => (isDown ? row.find() : Promise.resolve(parent)),
        },
        tools: tools(),
      });
      const scope = await admit(world);
      isDown = true;
      expect(await answers(scope)).toStrictEqual(refused(row.code));
    });
  }
});
