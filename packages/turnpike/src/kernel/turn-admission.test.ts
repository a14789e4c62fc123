import { describe, expect, test } from "vitest";
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
  runAgent,
  said,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import type { Grant } from "../contracts/index.ts";
import type { KernelOptions } from "./ports.ts";
import type { TurnScope } from "./turn-scope.ts";
import type { EarlierRun, TurnRefusal } from "./turn-admission.ts";

const toRun = grantOf("run", { capabilities: [runAgent], constraints: { maxUses: 1 } });
const toRead = grantOf("notes");
const between = "2026-01-01T12:05:00Z";
const { signal } = new AbortController();

type Ports = Partial<Omit<KernelOptions, "grants">>;

/** A turn that was admitted at noon, and what an earlier run of it left. */
async function admittedAtNoon(grants: readonly Grant[], ports: Ports = {}): Promise<World & { earlier: EarlierRun }> {
  const world = worldOf({ tools: [noteTool()], ...ports, grants });
  const admitted = await world.kernel.admitTurn(contextOf(), { agent });
  if (admitted.kind !== "admitted") throw new Error(`It was refused: ${admitted.reason}`);
  const admission = admitted.scope.admission();
  return { ...world, earlier: { admission, isAnswered: false, mayHaveTakenEffect: false } };
}

/** Resumes the turn ten minutes later, in a context where more tools are on. */
async function resume({ kernel }: World, resumes: EarlierRun): Promise<TurnScope | TurnRefusal> {
  const context = contextOf({ now: later, enabledToolNamespaces: ["files", "mail"] });
  const admission = await kernel.admitTurn(context, { agent, resumes });
  return admission.kind === "admitted" ? admission.scope : admission;
}

/** What reading a note comes to in a turn that is resumed. */
async function readIn(turn: TurnScope | TurnRefusal): Promise<string> {
  return "reason" in turn ? turn.reason : said(await turn.invokeTool(callOf(), later, signal));
}

describe("a turn that is resumed", () => {
  test("has what it was admitted with, since then, and takes no second use", async () => {
    const world = await admittedAtNoon([toRun, toRead]);
    const turn = await resume(world, world.earlier);
    expect(await readIn(turn)).toBe("succeeded");
    expect(turn).not.toHaveProperty("reason");
    expect((turn as TurnScope).admission()).toEqual({
      at: now,
      grantId: "run",
      grants: ["notes"],
      namespaces: ["files"],
      tools: ["files.read"],
    });
    expect(await world.usage.used("demo", "run")).toBe(1);
    const started = world.events.filter(({ type }) => type === "turn.started");
    expect(started.map(({ metadata }) => metadata)).toEqual([undefined, { goesOn: "interrupted" }]);
  });

  test("may have had the effects of its earlier run", async () => {
    const world = await admittedAtNoon([toRun, toRead]);
    expect(await resume(world, world.earlier)).toMatchObject({ mayHaveTakenEffect: false });
    expect(await resume(world, { ...world.earlier, mayHaveTakenEffect: true })).toMatchObject({
      mayHaveTakenEffect: true,
    });
  });

  describe("with tools of a provider", () => {
    /** A provider of tools that can be down. */
    const openPost = () => {
      const post = {
        names: ["post.read"],
        isDown: false,
        id: "post",
        namespaces: ["post"],
        tools: () =>
          post.isDown
            ? Promise.reject(new Error("down"))
            : Promise.resolve(post.names.map((name) => noteTool({ name }))),
      };
      return post;
    };
    const context = contextOf({ enabledToolNamespaces: ["files", "post"] });
    const call = callOf({ tool: "post.read" });

    /** A turn that had the tools of the provider, and is resumed while that is down. */
    const interrupted = async () => {
      const post = openPost();
      const { kernel } = worldOf({ tools: [noteTool()], toolProviders: [post], grants: [toRun, toRead] });
      const first = await kernel.admitTurn(context, { agent });
      if (first.kind !== "admitted") throw new Error(`It was refused: ${first.reason}`);
      expect(first.scope.admission().tools).toEqual(["files.read", "post.read"]);
      const earlier = { admission: first.scope.admission(), isAnswered: false, mayHaveTakenEffect: false };
      const resumeNow = async (resumes: EarlierRun): Promise<TurnScope> => {
        const admitted = await kernel.admitTurn({ ...context, now: later }, { agent, resumes });
        if (admitted.kind !== "admitted") throw new Error(`It was refused: ${admitted.reason}`);
        return admitted.scope;
      };
      return { post, earlier, resumeNow };
    };

    test("has not lost them while the provider is down: each call asks for them again", async () => {
      const { post, earlier, resumeNow } = await interrupted();
      post.isDown = true;
      const scope = await resumeNow(earlier);
      expect([scope.tools.map(({ name }) => name), scope.missing]).toEqual([["files.read"], ["post.read"]]);
      expect(scope.offers("post.read")).toBe(true);
      expect(await scope.invokeTool(call, later, signal)).toMatchObject({
        status: "failed",
        error: { code: "tool_catalog_unavailable", retryable: true },
      });
      post.isDown = false;
      expect(said(await scope.invokeTool({ ...call, id: "again" }, later, signal))).toBe("succeeded");
      // Nor does a turn that is interrupted once more.
      expect(scope.admission().tools).toEqual(["files.read", "post.read"]);
    });

    test("has none that the provider has only got since, neither now nor when it comes back", async () => {
      const { post, earlier, resumeNow } = await interrupted();
      post.names = ["post.read", "post.send"];
      const there = await resumeNow(earlier);
      expect(there.tools.map(({ name }) => name)).toEqual(["files.read", "post.read"]);
      expect(there.offers("post.send")).toBe(false);
      post.isDown = true;
      const away = await resumeNow(earlier);
      post.isDown = false;
      const sent = await away.invokeTool({ ...call, tool: "post.send" }, later, signal);
      expect(said(sent)).toBe("tool_catalog_unavailable");
    });

    test("has those that came since after its escalation was answered", async () => {
      const { post, earlier, resumeNow } = await interrupted();
      post.names = ["post.read", "post.send"];
      const scope = await resumeNow({ ...earlier, isAnswered: true });
      expect(scope.tools.map(({ name }) => name)).toEqual(["files.read", "post.read", "post.send"]);
    });

    test("resumes with what a version before this stored of it", async () => {
      const { earlier, resumeNow } = await interrupted();
      const { tools: _tools, ...admission } = earlier.admission;
      const scope = await resumeNow({ ...earlier, admission });
      expect(scope.tools.map(({ name }) => name)).toEqual(["files.read", "post.read"]);
    });
  });

  const mail = noteTool({ name: "mail.read" });

  test("has no namespace that was switched on since", async () => {
    const world = await admittedAtNoon([toRun, toRead], { tools: [noteTool(), mail] });
    const turn = (await resume(world, world.earlier)) as TurnScope;
    expect(turn.tools.map(({ name }) => name)).toEqual(["files.read"]);
  });

  const unbounded = { ...toRun, constraints: {} };
  const parent = grantOf("parent", {
    subject: alice,
    issuer: bob,
    capabilities: [runAgent],
    constraints: { delegationDepth: 1 },
  });
  const derived = { ...unbounded, parentId: "parent" };
  const rows: { name: string; held?: Grant[]; meanwhile: (world: World) => void; said: string; metadata?: object }[] = [
    {
      name: "without what was issued since",
      held: [toRun],
      meanwhile: ({ grants }) => grants.issue(toRead),
      said: "tool_unavailable",
    },
    {
      name: "without what was revoked since",
      meanwhile: ({ grants }) => grants.revoke("demo", "notes", between),
      said: "tool_unavailable",
    },
    {
      name: "not without the grant that admitted it",
      meanwhile: ({ grants }) => grants.revoke("demo", "run", between),
      said: "no_matching_grant",
      metadata: { admission: { failed: "missing" } },
    },
    {
      name: "not by another grant than the one that admitted it",
      held: [unbounded, { ...unbounded, id: "other" }, toRead],
      meanwhile: ({ grants }) => grants.revoke("demo", "run", between),
      said: "no_matching_grant",
      metadata: { admission: { failed: "missing" } },
    },
    {
      name: "not by a chain that was broken since",
      held: [derived, parent, toRead],
      meanwhile: ({ grants }) => grants.revoke("demo", "parent", between),
      said: "delegation_chain_invalid",
      metadata: { admission: { grantId: "run", failed: "delegation_chain_invalid", rule: "parent_inactive" } },
    },
  ];
  for (const row of rows) {
    test(`resumes ${row.name}`, async () => {
      const world = await admittedAtNoon(row.held ?? [toRun, toRead]);
      row.meanwhile(world);
      expect(await readIn(await resume(world, world.earlier))).toBe(row.said);
      const refusals = world.events.filter(
        ({ type, outcome }) => `${type} ${outcome}` === "authorization.checked denied",
      );
      expect(refusals.map(({ reason, metadata }) => ({ reason, metadata }))).toEqual(
        row.metadata ? [{ reason: row.said, metadata: row.metadata }] : [],
      );
    });
  }

  test("does not resume when its access is revoked, or the guard cannot say whether it is active, or grants cannot be read", async () => {
    let answer = (): Promise<{ isActive: boolean; enabledToolNamespaces: string[] }> =>
      Promise.resolve({ isActive: true, enabledToolNamespaces: ["files"] });
    const world = await admittedAtNoon([toRun, toRead], { access: { check: () => answer() } });
    expect(await readIn(await resume(world, world.earlier))).toBe("succeeded");
    answer = () => Promise.resolve({ isActive: false, enabledToolNamespaces: ["files"] });
    expect(await resume(world, world.earlier)).toEqual({ kind: "refused", reason: "credential_revoked" });
    answer = fails;
    expect(await resume(world, world.earlier)).toEqual({ kind: "refused", reason: "authority_unavailable" });
    const unread = worldOf({ source: { load: fails } });
    expect(await resume(unread, world.earlier)).toEqual({ kind: "refused", reason: "authority_unavailable" });
  });
});

describe("a turn whose escalation was answered", () => {
  const answered = (earlier: EarlierRun): EarlierRun => ({ ...earlier, isAnswered: true });

  test("may do what a new one might, and takes no use while its grant is valid", async () => {
    const world = await admittedAtNoon([toRun]);
    world.grants.issue(toRead);
    const turn = (await resume(world, answered(world.earlier))) as TurnScope;
    expect(await readIn(turn)).toBe("succeeded");
    expect(turn.admission()).toMatchObject({ at: later, namespaces: ["files", "mail"] });
    expect(await world.usage.used("demo", "run")).toBe(1);
    expect(world.events.findLast(({ type }) => type === "turn.started")?.metadata).toEqual({ goesOn: "answered" });
  });

  test("is admitted anew when that is gone, which takes a use", async () => {
    const world = await admittedAtNoon([toRun, toRead]);
    world.grants.revoke("demo", "run", between);
    expect(await resume(world, answered(world.earlier))).toEqual({ kind: "refused", reason: "no_matching_grant" });
    world.grants.issue({ ...toRun, id: "again" });
    expect(await readIn(await resume(world, answered(world.earlier)))).toBe("succeeded");
    expect(await world.usage.used("demo", "again")).toBe(1);
  });
});

describe("a turn that ended in the middle of its admission", () => {
  const began = { at: now, namespaces: ["files"] };
  const cut: EarlierRun = { admission: undefined, began, isAnswered: false, mayHaveTakenEffect: false };
  const issuedSince = (grant: Grant): Grant => ({ ...grant, issuedAt: between });

  const rows: { name: string; held: Grant[]; said: string }[] = [
    { name: "on what was there when it began", held: [toRun, toRead], said: "succeeded" },
    { name: "on what was issued at that instant", held: [toRun, { ...toRead, issuedAt: now }], said: "succeeded" },
    { name: "without what was issued since", held: [toRun, issuedSince(toRead)], said: "tool_unavailable" },
    {
      name: "without what has become valid since",
      held: [toRun, { ...toRead, constraints: { notBefore: between } }],
      said: "tool_unavailable",
    },
    { name: "not by a grant that was issued since", held: [issuedSince(toRun), toRead], said: "no_matching_grant" },
    {
      name: "by the next grant when the chain of the first is broken",
      held: [{ ...toRun, id: "broken", parentId: "gone" }, toRun, toRead],
      said: "succeeded",
    },
  ];
  for (const row of rows) {
    test(`resumes ${row.name}, and takes no use`, async () => {
      const world = worldOf({ tools: [noteTool()], grants: row.held });
      expect(await readIn(await resume(world, cut))).toBe(row.said);
      expect(await world.usage.used("demo", "run")).toBe(0);
    });
  }

  test("has no namespace that was switched on since it began", async () => {
    const mail = { ...toRead, capabilities: [...toRead.capabilities, capability("mail", [], "read")] };
    const world = worldOf({ tools: [noteTool(), noteTool({ name: "mail.read" })], grants: [toRun, mail] });
    expect(((await resume(world, cut)) as TurnScope).tools.map(({ name }) => name)).toEqual(["files.read"]);
  });
});
