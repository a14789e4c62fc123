import type { Grant } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { anyDatabase, openFresh } from "../../../test/databases.ts";
import { openSigningHost, type SigningHost } from "../../../test/signing-host.ts";
import { signInProviderOfTest, type SignInProvider } from "../../../test/sign-in-provider.ts";
import type { TestBrowser } from "../../../test/test-browser.ts";

const alice = { kind: "human", userId: "alice" } as const;
const bob = { kind: "human", userId: "bob" } as const;
const helper = { kind: "agent", agentId: "helper" } as const;
const den = { resource: { namespace: "files", path: ["den", "{subject}"] }, actions: ["read"], scope: "descendants" };

interface World {
  host: SigningHost;
  provider: SignInProvider;
  /** A user's browser, signed in; what it sends has the half that its page holds. */
  enter(sub: string): Promise<{
    browser: TestBrowser;
    half: string;
    ask<Body>(path: string, body?: unknown): Promise<{ status: number; body: Body }>;
  }>;
}

async function open(settings: Record<string, unknown> = {}): Promise<World> {
  const provider = await signInProviderOfTest({ sub: "alice" });
  const people = { tenant: "acme", holds: [den] };
  const operators = [{ claim: "groups", value: "desk", role: "reviewer" }];
  const signIn = { issuer: provider.issuer, clientId: "turnpike", people, operators };
  const host = await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), signIn, { settings });
  return {
    host,
    provider,
    async enter(sub) {
      provider.user = { sub };
      const browser = host.newBrowser();
      const { address } = await browser.follow("/sign-in?to=/me");
      const code = new URLSearchParams(new URL(address).hash.slice(1)).get("code");
      const begun = await browser.send("/me/v1/session", { code });
      const { pageSecret: half } = (await begun.json()) as { pageSecret: string };
      return {
        browser,
        half,
        async ask(path, body) {
          const answer = await browser.send(path, body, { "x-turnpike-me": half });
          return { status: answer.status, body: (await answer.json()) as never };
        },
      };
    },
  };
}

/** An escalation of the helper's that would use a user's authority. */
async function asked(
  { host }: World,
  authority: typeof alice | typeof bob,
  requester: typeof helper | typeof alice = helper,
) {
  const context = {
    actor: requester,
    authority,
    owner: authority,
    namespaceId: "acme",
    now: new Date().toISOString(),
    purpose: "work",
    traceId: "trace-1",
    enabledToolNamespaces: [],
  };
  const capabilities = [
    { resource: { namespace: "files", path: ["plan"] }, actions: ["read"], scope: "exact" as const },
  ];
  const added = await host.stores.escalations.add(context, {
    reason: "I need the plan.",
    reviewer: authority,
    requestedAuthority: { capabilities },
    requestedAt: context.now,
  } as never);
  if (added === "full") throw new Error("The queue is full.");
  const record = await host.stores.escalations.find("acme", added.id, context.now);
  return { id: added.id, ask: record?.ask ?? "" };
}

function handedOn(id: string, issuer: typeof alice | typeof bob, more: Partial<Grant> = {}): Grant {
  return {
    id,
    namespaceId: "acme",
    issuer,
    subject: helper,
    capabilities: [{ resource: { namespace: "files", path: ["den"] }, actions: ["read"], scope: "descendants" }],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00.000Z",
    ...more,
  };
}

test("a person is told who they are here, and until when", async () => {
  const { enter } = await open();
  const { ask } = await enter("alice");
  expect(await ask("/me/v1/session")).toEqual({
    status: 200,
    body: { principal: alice, tenant: "acme", expiresAt: expect.any(String) },
  });
});

describe("no one is admitted", () => {
  test("with one half of a session, with an agent's token, or from a page of another origin", async () => {
    const { host, enter } = await open();
    const { browser, half } = await enter("alice");
    const access = { actor: helper, owner: alice, authority: alice, purposes: ["work"] };
    const { token } = await host.stores.credentials.create({ namespaceId: "acme", access });
    const person = { actor: alice, owner: alice, purposes: ["work"] };
    const own = await host.stores.credentials.create({ namespaceId: "acme", access: person });
    const stranger = host.newBrowser();
    const status = async (who: TestBrowser, headers: Record<string, string>) =>
      (await who.send("/me/v1/questions", undefined, headers)).status;
    expect([
      await status(browser, {}),
      await status(stranger, { "x-turnpike-me": half }),
      await status(stranger, { authorization: `Bearer ${token}` }),
      await status(stranger, { authorization: `Bearer ${own.token}` }),
      await status(browser, { "x-turnpike-console": half }),
      await status(browser, { "x-turnpike-me": half, "sec-fetch-site": "cross-site" }),
      await status(browser, { "x-turnpike-me": half, "sec-fetch-site": "same-site" }),
      await status(browser, { "x-turnpike-me": half }),
    ]).toEqual([401, 401, 401, 401, 401, 403, 403, 200]);
    const evil = { "x-turnpike-me": half, origin: "https://evil.example" };
    expect((await browser.send("/me/v1/sessions/end", { id: "a" }, evil)).status).toBe(403);
  });

  test("with an operator's session, and no person with theirs at the console", async () => {
    const { host, provider, enter } = await open();
    provider.user = { sub: "carol", groups: ["desk"] };
    const operator = host.newBrowser();
    const { address } = await operator.follow("/sign-in?to=/console");
    const code = new URLSearchParams(new URL(address).hash.slice(1)).get("code");
    expect((await operator.send("/me/v1/session", { code })).status).toBe(401);
    const begun = await operator.send("/admin/v1/sessions", { code });
    const { pageSecret } = (await begun.json()) as { pageSecret: string };
    // The browser is made to show the cookie of one under the name of the other.
    const value = operator.cookies.get("turnpike") ?? "";
    operator.cookies.set("turnpike-me", value);
    expect((await operator.send("/me/v1/session", undefined, { "x-turnpike-me": pageSecret })).status).toBe(401);
    const { browser, half } = await enter("alice");
    browser.cookies.set("turnpike", browser.cookies.get("turnpike-me") ?? "");
    expect((await browser.send("/admin/v1/session", undefined, { "x-turnpike-console": half })).status).toBe(403);
    const again = await browser.follow("/sign-in?to=/me");
    const own = new URLSearchParams(new URL(again.address).hash.slice(1)).get("code");
    expect((await browser.send("/admin/v1/sessions", { code: own })).status).toBe(403);
  });
});

test("a person sees those who act for them, and takes back what they granted, and no one else's", async () => {
  const { host, enter } = await open();
  const [hers, his] = [await enter("alice"), await enter("bob")];
  const { grants } = host.stores;
  await grants.issue(handedOn("one", alice));
  await grants.issue(handedOn("two", alice));
  await grants.issue(handedOn("over", alice, { constraints: { expiresAt: "2026-01-02T00:00:00.000Z" } }));
  await grants.issue(handedOn("bobs", bob));
  const seen = await hers.ask<{ connections: { subject: object; grants: Grant[] }[] }>("/me/v1/connections");
  expect(seen.body.connections.map(({ subject, grants: held }) => [subject, held.map(({ id }) => id)])).toEqual([
    [helper, ["one", "two"]],
  ]);
  expect(await hers.ask("/me/v1/connections/revoke", { subject: helper })).toEqual({
    status: 200,
    body: { revoked: 2 },
  });
  expect((await hers.ask("/me/v1/connections/revoke", { subject: helper })).status).toBe(404);
  const ids = async () =>
    (await his.ask<typeof seen.body>("/me/v1/connections")).body.connections.flatMap((one) =>
      one.grants.map(({ id }) => id),
    );
  expect(await ids()).toEqual(["bobs"]);
  expect(await hers.ask("/me/v1/connections/revoke", { subject: helper, namespaceId: "other" })).toMatchObject({
    status: 400,
  });
});

describe("a question", () => {
  test("about a person's authority is theirs to answer, once, and as they were shown it", async () => {
    const world = await open();
    const [hers, his] = [await world.enter("alice"), await world.enter("bob")];
    const { id, ask } = await asked(world, alice);
    const seen = await hers.ask<{ questions: { id: string }[]; approvalsNeeded: number }>("/me/v1/questions");
    expect(seen.body).toMatchObject({
      approvalsNeeded: 1,
      questions: [{ id, ask, requester: helper, reason: "I need the plan." }],
    });
    expect((await his.ask<typeof seen.body>("/me/v1/questions")).body.questions).toEqual([]);
    const allow = { id, ask, answer: "allow" };
    expect((await his.ask("/me/v1/questions/answer", allow)).status).toBe(404);
    expect((await hers.ask("/me/v1/questions/answer", { ...allow, ask: "another" })).status).toBe(409);
    expect(await hers.ask("/me/v1/questions/answer", allow)).toEqual({ status: 200, body: { status: "approved" } });
    expect((await hers.ask("/me/v1/questions/answer", { ...allow, answer: "deny" })).status).toBe(409);
    const events = await world.host.stores.audit.list("acme", { limit: 50 });
    const said = events.filter(({ event }) => event.action === "escalation.approve");
    expect(said.map(({ event }) => [event.actor, event.outcome])).toEqual([
      [alice, "succeeded"],
      [alice, "allowed"],
    ]);
  });

  test("is denied with a reason", async () => {
    const world = await open();
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice);
    const answer = { ...question, answer: "deny", reason: "Not today." };
    expect(await ask("/me/v1/questions/answer", answer)).toEqual({ status: 200, body: { status: "denied" } });
    const found = await world.host.stores.escalations.find("acme", question.id, new Date().toISOString());
    expect(found).toMatchObject({ status: "denied", answer: "Not today." });
  });

  test("of the person themselves is not theirs to answer", async () => {
    const world = await open();
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice, alice);
    expect((await ask<{ questions: object[] }>("/me/v1/questions")).body.questions).toEqual([]);
    expect((await ask("/me/v1/questions/answer", { ...question, answer: "allow" })).status).toBe(403);
  });

  test("where reviewers alone answer is not a person's", async () => {
    const world = await open({ escalations: { answeredBy: ["reviewers"] } });
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice);
    expect((await ask<{ questions: object[] }>("/me/v1/questions")).body.questions).toEqual([]);
    expect((await ask("/me/v1/questions/answer", { ...question, answer: "allow" })).status).toBe(403);
  });

  test("where the authority alone answers is no reviewer's", async () => {
    const world = await open({ escalations: { answeredBy: ["authority"] } });
    const operator = { kind: "human", userId: "oona" } as const;
    const access = { actor: operator, owner: operator, purposes: ["operate"], admin: true };
    const { token } = await world.host.stores.credentials.create({ namespaceId: "operators", access });
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice);
    const sent = { ...question, namespaceId: "acme" };
    const headers = { authorization: `Bearer ${token}` };
    expect((await world.host.newBrowser().send("/admin/v1/escalations/approve", sent, headers)).status).toBe(403);
    expect((await ask("/me/v1/questions/answer", { ...question, answer: "allow" })).status).toBe(200);
  });

  test("that two people have to allow counts one approval of the person's own at most", async () => {
    const world = await open({ escalations: { approvals: 2 } });
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice);
    const allow = { ...question, answer: "allow" };
    expect(await ask("/me/v1/questions/answer", allow)).toEqual({ status: 200, body: { status: "pending" } });
    expect((await ask("/me/v1/questions/answer", allow)).status).toBe(409);
    // Also not as the operator that she is as well.
    world.provider.user = { sub: "alice", groups: ["desk"] };
    const console = async () => {
      const browser = world.host.newBrowser();
      const { address } = await browser.follow("/sign-in?to=/console");
      const code = new URLSearchParams(new URL(address).hash.slice(1)).get("code");
      const begun = await browser.send("/admin/v1/sessions", { code });
      const { pageSecret } = (await begun.json()) as { pageSecret: string };
      const sent = { ...question, namespaceId: "acme" };
      return browser.send("/admin/v1/escalations/approve", sent, { "x-turnpike-console": pageSecret });
    };
    expect((await console()).status).toBe(409);
    world.provider.user = { sub: "carol", groups: ["desk"] };
    const answered = await console();
    expect([answered.status, await answered.json()]).toMatchObject([200, { escalation: { status: "approved" } }]);
  });

  test("that a person allowed as an operator is not theirs to allow again", async () => {
    const world = await open({ escalations: { approvals: 2 } });
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice);
    const access = { actor: alice, owner: alice, purposes: ["operate"], admin: true };
    const { token } = await world.host.stores.credentials.create({ namespaceId: "operators", access });
    const sent = { ...question, namespaceId: "acme" };
    const headers = { authorization: `Bearer ${token}` };
    const first = await world.host.newBrowser().send("/admin/v1/escalations/approve", sent, headers);
    expect(await first.json()).toMatchObject({ escalation: { status: "pending" } });
    expect((await ask<{ questions: object[] }>("/me/v1/questions")).body.questions).toEqual([]);
    expect((await ask("/me/v1/questions/answer", { ...question, answer: "allow" })).status).toBe(409);
    // She may still deny it.
    expect(await ask("/me/v1/questions/answer", { ...question, answer: "deny" })).toMatchObject({
      body: { status: "denied" },
    });
  });

  test("that a person allowed counts no more once they are revoked", async () => {
    const world = await open({ escalations: { approvals: 2 } });
    const { ask } = await world.enter("alice");
    const question = await asked(world, alice);
    await ask("/me/v1/questions/answer", { ...question, answer: "allow" });
    const person = await world.host.stores.people.find("acme", alice);
    await world.host.stores.credentials.revoke(person?.credentialId ?? "", new Date().toISOString());
    world.provider.user = { sub: "carol", groups: ["desk"] };
    const operator = { kind: "human", userId: "oona" } as const;
    const access = { actor: operator, owner: operator, purposes: ["operate"], admin: true };
    const { token } = await world.host.stores.credentials.create({ namespaceId: "operators", access });
    const headers = { authorization: `Bearer ${token}` };
    const sent = { ...question, namespaceId: "acme" };
    const answered = await world.host.newBrowser().send("/admin/v1/escalations/approve", sent, headers);
    expect(await answered.json()).toMatchObject({
      escalation: { status: "pending", dropped: [{ by: alice, why: "credential_revoked" }] },
    });
  });
});

test("a person reads what they did and what was done with their authority, page by page, and nothing of others", async () => {
  const { host, enter } = await open();
  const { ask } = await enter("alice");
  await enter("bob");
  const event = (place: number, more: object) => ({
    id: `event-${place}`,
    version: 1 as const,
    type: "tool.invoked" as const,
    outcome: "succeeded" as const,
    at: new Date(Date.now() + place).toISOString(),
    traceId: `trace-${place}`,
    namespaceId: "acme",
    actor: helper,
    owner: bob,
    purpose: "work",
    ...more,
  });
  for (let place = 0; place < 60; place += 1)
    await host.stores.audit.record(event(place, { authority: place % 10 === 0 ? bob : alice }));
  // Her name in other places makes nothing hers.
  await host.stores.audit.record(event(99, { authority: bob, receiver: alice, metadata: { authority: alice } }));
  interface Page {
    events: { actor: object; authority?: object }[];
    cursor?: string;
  }
  const first = await ask<Page>("/me/v1/trail");
  const rest = await ask<Page>(`/me/v1/trail?cursor=${encodeURIComponent(first.body.cursor ?? "")}`);
  const all = [...first.body.events, ...rest.body.events];
  expect([first.body.events.length, rest.body.cursor]).toEqual([50, undefined]);
  expect(all.filter(({ authority }) => authority !== undefined)).toHaveLength(54);
  for (const { actor, authority = actor } of all) expect(authority).toEqual(alice);
  expect((await ask("/me/v1/trail?cursor=%00")).status).toBe(400);
});

test("a person ends sessions of their own, and knows of no others", async () => {
  const { enter } = await open();
  const [first, second, his] = [await enter("alice"), await enter("alice"), await enter("bob")];
  interface Open {
    sessions: { id: string; isThis: boolean }[];
  }
  const seen = await first.ask<Open>("/me/v1/sessions");
  expect(seen.body.sessions.map(({ isThis }) => isThis).toSorted()).toEqual([false, true]);
  const other = seen.body.sessions.find(({ isThis }) => !isThis)?.id ?? "";
  expect((await his.ask("/me/v1/sessions/end", { id: other })).status).toBe(404);
  expect((await first.ask("/me/v1/sessions/end", { id: other })).status).toBe(200);
  expect([(await second.ask("/me/v1/session")).status, (await first.ask("/me/v1/session")).status]).toEqual([401, 200]);
  expect((await first.ask("/sign-out", {})).status).toBe(200);
  expect((await first.ask("/me/v1/session")).status).toBe(401);
});
