import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh, openPair, sharedDatabase } from "../../../test/databases.ts";
import { changesIn, oona, openOffice, type Office, type OfficeOptions, type Refusal } from "../../../test/office.ts";
import { bobAs, enterAs, sendAs } from "../../../test/operators.ts";
import { access, grant } from "../../../test/records.ts";
import { createRateLimit } from "../../access/rate-limit.ts";

interface Sent {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

interface Answered {
  status: number;
  cookie: string | null;
  body: unknown;
}

interface Code {
  code: string;
  url: string;
  expiresAt: string;
}

const sessions = "/admin/v1/sessions";

/** Both halves of a session, as the console's page sends them. */
type Halves = Record<"cookie" | "x-turnpike-console", string>;

/** Asks an office as a browser would: without a token. */
async function ask({ handler }: Office, path: string, { method, body, headers = {} }: Sent = {}): Promise<Answered> {
  const sent = { headers, ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }) };
  const response = await handler(
    new Request(`http://host${path}`, { ...sent, ...(method !== undefined && { method }) }),
  );
  if (response === undefined) throw new Error(`${path} is not the operators'.`);
  const text = await response.text();
  return {
    status: response.status,
    cookie: response.headers.get("set-cookie"),
    body: text === "" ? undefined : JSON.parse(text),
  };
}

/** Begins a session, with a token or a code. */
async function signIn(office: Office, token = office.tokens.operator): Promise<Halves> {
  return halvesOf(await ask(office, sessions, { body: { token } }));
}

function halvesOf({ cookie, body }: Answered): Halves {
  const { pageSecret } = body as { pageSecret: string };
  return { cookie: (cookie ?? "").split(";")[0] ?? "", "x-turnpike-console": pageSecret };
}

async function makeCode(office: Office, token = office.tokens.operator): Promise<Code> {
  return (await sendAs<Code>(office, token, "/admin/v1/codes", {})).body;
}

async function statusOf(office: Office, headers: Record<string, string>): Promise<number> {
  return (await ask(office, "/admin/v1/session", { headers })).status;
}

function said({ status, body }: Answered): unknown[] {
  const { code, message } = (body as Refusal).error;
  return [status, code, message];
}

const wrong = [
  401,
  "unauthenticated",
  "This token or code is unknown, revoked or over. A code works once, for 10 minutes: `turnpike console` makes another.",
];
const ended = [
  401,
  "unauthenticated",
  "This session has ended, or x-turnpike-console is not the half of it that its page holds. Sign in again.",
];

describe.each(databaseKinds)("sessions of operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (options?: OfficeOptions): Promise<Office> => openOffice(await open(), options);

  test("a token begins one, which is a cookie that no script can read and no other site can use", async () => {
    const adminApi = await office({ accessClock: () => new Date("2026-01-01T12:00:00.000Z") });
    const begun = await ask(adminApi, sessions, { body: { token: adminApi.tokens.operator } });
    const { status, cookie, body } = begun;
    expect(status).toBe(201);
    expect(cookie).toMatch(/^turnpike=[0-9a-f]{16}_[0-9a-f]{64}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const operator = { id: adminApi.operatorId, actor: oona, role: "admin" };
    const session = {
      operator,
      expiresAt: "2026-01-02T00:00:00.000Z",
      host: { version: "1.0.0-preview", isDemo: false },
    };
    expect(body).toEqual({ ...session, pageSecret: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const headers = halvesOf(begun);
    expect(await ask(adminApi, "/admin/v1/session", { headers })).toMatchObject({ status: 200, body: session });
  });

  test("over https the cookie is bound to this very host, and one of another name is none", async () => {
    const adminApi = await office({ origin: "https://gate.example" });
    const begun = await ask(adminApi, sessions, { body: { token: adminApi.tokens.operator } });
    expect(begun.cookie).toMatch(
      /^__Host-turnpike=[0-9a-f]{16}_[0-9a-f]{64}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    const halves = halvesOf(begun);
    expect(await statusOf(adminApi, halves)).toBe(200);
    expect(await statusOf(adminApi, { ...halves, cookie: halves.cookie.replace("__Host-", "") })).toBe(401);
  });

  test("who came with a token has no session, and is told who they are all the same", async () => {
    const adminApi = await office();
    const bob = await enterAs(adminApi, "auditor", "acme");
    expect(await bob.send("/admin/v1/session")).toEqual({
      status: 200,
      body: {
        operator: { id: bob.id, actor: { kind: "human", userId: "bob" }, role: "auditor", tenant: "acme" },
        host: { version: "1.0.0-preview", isDemo: false },
      },
    });
  });

  test("a session has the role and the tenant of its operator", async () => {
    const adminApi = await office();
    const bob = await enterAs(adminApi, "reviewer", "acme");
    const headers = await signIn(adminApi, bob.token);
    expect((await ask(adminApi, "/admin/v1/grants?namespaceId=acme", { headers })).status).toBe(403);
    expect((await ask(adminApi, "/admin/v1/escalations?namespaceId=other", { headers })).status).toBe(403);
    expect((await ask(adminApi, "/admin/v1/escalations?namespaceId=acme", { headers })).status).toBe(200);
  });

  test("a code begins one session of the operator who made it, within ten minutes", async () => {
    const time = { now: "2026-01-01T12:00:00.000Z" };
    const adminApi = await office({ accessClock: () => new Date(time.now), origin: "https://gate.example" });
    const bob = await enterAs(adminApi, "auditor");
    const made = await makeCode(adminApi, bob.token);
    expect(made).toEqual({
      code: expect.stringMatching(/^[0-9a-f]{16}_[0-9a-f]{32}$/),
      url: `https://gate.example/console/#code=${made.code}`,
      expiresAt: "2026-01-01T12:10:00.000Z",
    });
    const late = await makeCode(adminApi, bob.token);
    const first = await ask(adminApi, sessions, { body: { code: made.code } });
    expect(first).toMatchObject({ status: 201, body: { operator: { id: bob.id, role: "auditor" } } });
    expect(said(await ask(adminApi, sessions, { body: { code: made.code } }))).toEqual(wrong);
    time.now = "2026-01-01T12:10:00.000Z";
    expect(said(await ask(adminApi, sessions, { body: { code: late.code } }))).toEqual(wrong);
  });

  test("a session makes no code, so that it cannot outlive itself in another one", async () => {
    const adminApi = await office();
    const headers = await signIn(adminApi);
    const answer = await ask(adminApi, "/admin/v1/codes", { body: {}, headers });
    const refusal = "A session makes no codes: make one with the operator's token.";
    expect(said(answer)).toEqual([403, "permission_denied", refusal]);
  });

  test("of two who use a code at the same instant, one gets in, and the audit log says so", async () => {
    const adminApi = await office();
    const { code } = await makeCode(adminApi);
    const answers = await Promise.all([1, 2, 3].map(() => ask(adminApi, sessions, { body: { code } })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 401, 401]);
    const events = (await changesIn(adminApi, "operators")).filter(
      ({ action, metadata }) => action === "session.create" && metadata?.["code"] === code.split("_")[0],
    );
    expect(events.filter(({ outcome }) => outcome === "succeeded")).toHaveLength(1);
  });

  describe("no session begins with", () => {
    const rows: { name: string; body(adminApi: Office): unknown }[] = [
      { name: "an unknown token", body: () => ({ token: `tp_${"0".repeat(16)}_${"0".repeat(64)}` }) },
      { name: "a wrong secret", body: ({ tokens }) => ({ token: `${tokens.operator.slice(0, -4)}zzzz` }) },
      { name: "a token in place of a code", body: ({ tokens }) => ({ code: tokens.operator }) },
      { name: "an unknown code", body: () => ({ code: `${"0".repeat(16)}_${"0".repeat(32)}` }) },
      { name: "any words", body: () => ({ code: "open sesame" }) },
    ];
    for (const { name, body } of rows) {
      test(`${name}: the same 401`, async () => {
        const adminApi = await office();
        const answer = await ask(adminApi, sessions, { body: body(adminApi) });
        expect([...said(answer), answer.cookie]).toEqual([...wrong, null]);
      });
    }

    test("a revoked, rotated or expired operator's token, or a code of one: the same 401", async () => {
      const adminApi = await office();
      const { credentials } = adminApi.stores;
      const made = { namespaceId: "operators", access: bobAs("admin") };
      const [revoked, rotated] = [await credentials.create(made), await credentials.create(made)];
      const expired = await credentials.create({ ...made, expiresAt: "2020-01-01T00:00:00Z" });
      const codes = [await makeCode(adminApi, revoked.token), await makeCode(adminApi, rotated.token)];
      await credentials.revoke(revoked.id, new Date().toISOString());
      await credentials.rotate(rotated.id, new Date());
      for (const { token } of [revoked, rotated, expired])
        expect(said(await ask(adminApi, sessions, { body: { token } }))).toEqual(wrong);
      for (const { code } of codes) expect(said(await ask(adminApi, sessions, { body: { code } }))).toEqual(wrong);
    });

    test("an agent's token: it is no operator's", async () => {
      const adminApi = await office();
      const answer = await ask(adminApi, sessions, { body: { token: adminApi.tokens.agent } });
      const refusal = [403, "permission_denied", "This credential is not an operator's."];
      expect([...said(answer), answer.cookie]).toEqual([...refusal, null]);
    });

    test("a page of another origin, whose sign-in would be another person's", async () => {
      const adminApi = await office();
      const body = { token: adminApi.tokens.operator };
      const statuses = [];
      for (const origin of ["http://evil.example", "null", "https://host", "http://host:81", "http://host"])
        statuses.push((await ask(adminApi, sessions, { body, headers: { origin } })).status);
      expect(statuses).toEqual([403, 403, 403, 403, 201]);
    });
  });

  for (const row of [
    { name: "revoked", path: "/admin/v1/credentials/revoke" },
    { name: "rotated", path: "/admin/v1/credentials/rotate" },
  ]) {
    test(`when its operator's credential is ${row.name}, it has ended at the next request`, async () => {
      const adminApi = await office();
      const bob = await enterAs(adminApi, "admin");
      const headers = await signIn(adminApi, bob.token);
      expect(await statusOf(adminApi, headers)).toBe(200);
      expect((await adminApi.post(row.path, { id: bob.id })).status).toBe(200);
      expect(said(await ask(adminApi, "/admin/v1/session", { headers }))).toEqual(ended);
    });
  }

  test("it ends when its operator ends it: the browser forgets it, and it cannot be used again", async () => {
    const adminApi = await office();
    const [headers, other] = [await signIn(adminApi), await signIn(adminApi)];
    expect(await ask(adminApi, "/admin/v1/sessions/end", { body: {}, headers })).toEqual({
      status: 200,
      cookie: "turnpike=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict",
      body: {},
    });
    expect(said(await ask(adminApi, "/admin/v1/session", { headers }))).toEqual(ended);
    expect(await statusOf(adminApi, other)).toBe(200);
  });

  test("its beginning, its end and a code are in the audit log of the operators, without a secret", async () => {
    const adminApi = await office();
    const { code } = await makeCode(adminApi);
    const headers = halvesOf(await ask(adminApi, sessions, { body: { code } }));
    const [, id = "", secret = ""] = /=([0-9a-f]{16})_([0-9a-f]{64})$/.exec(headers.cookie) ?? [];
    await ask(adminApi, "/admin/v1/sessions/end", { body: {}, headers });
    const all = await changesIn(adminApi, "operators");
    const events = all.filter(({ metadata }) => metadata?.["operator"] === adminApi.operatorId);
    const codeId = code.split("_")[0];
    expect(events.map(({ action, outcome, receiver, metadata }) => ({ action, outcome, receiver, metadata }))).toEqual(
      [
        { action: "code.create", metadata: { code: codeId } },
        { action: "session.create", metadata: { session: id, code: codeId } },
        { action: "session.end", metadata: { session: id } },
      ].flatMap(({ action, metadata }) =>
        ["allowed", "succeeded"].map((outcome) => ({
          action,
          outcome,
          receiver: oona,
          metadata: { ...metadata, operator: adminApi.operatorId },
        })),
      ),
    );
    for (const hidden of [secret, headers["x-turnpike-console"], code.split("_")[1] ?? ""])
      expect(JSON.stringify(all)).not.toContain(hidden);
  });

  describe("a change by cookie", () => {
    const change = async (headers: Record<string, string>, origin?: string) => {
      const adminApi = await office(origin === undefined ? {} : { origin });
      const body = grant("grant-1", { namespaceId: "by-cookie" });
      const answer = await ask(adminApi, "/admin/v1/grants", {
        body,
        headers: { ...(await signIn(adminApi)), ...headers },
      });
      const isMade = (await adminApi.stores.grants.find("by-cookie", "grant-1")) !== undefined;
      if (isMade) await adminApi.stores.grants.revoke("by-cookie", "grant-1", new Date().toISOString());
      return { answer, isMade };
    };

    for (const origin of ["http://evil.example", "null", "https://host", "http://host.evil.example", ""]) {
      test(`is refused to a page of the origin ${JSON.stringify(origin)}`, async () => {
        const { answer, isMade } = await change({ origin });
        expect([...said(answer), isMade]).toEqual([
          403,
          "permission_denied",
          "Pages of other origins may change nothing here.",
          false,
        ]);
      });
    }

    test("is made for the console itself", async () => {
      const { answer, isMade } = await change({ origin: "http://host" });
      expect([answer.status, isMade]).toEqual([201, true]);
    });

    test("every method but GET and HEAD is one", async () => {
      const adminApi = await office();
      const halves = await signIn(adminApi);
      const statuses: Record<string, number> = {};
      for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        const headers = { ...halves, origin: "http://evil.example" };
        statuses[method] = (await ask(adminApi, "/admin/v1/nothing", { method, headers })).status;
      }
      expect(statuses).toEqual({ GET: 404, HEAD: 404, POST: 403, PUT: 403, PATCH: 403, DELETE: 403, OPTIONS: 403 });
    });
  });

  describe("one half alone admits to nothing:", () => {
    const rows: { name: string; shown(halves: Halves, other: Halves): Record<string, string> }[] = [
      { name: "the cookie", shown: ({ cookie }) => ({ cookie }) },
      { name: "the cookie beside an empty half", shown: ({ cookie }) => ({ cookie, "x-turnpike-console": "" }) },
      { name: "the cookie beside any words", shown: ({ cookie }) => ({ cookie, "x-turnpike-console": "1" }) },
      {
        name: "the cookie beside the half twice",
        shown: (halves) => ({
          ...halves,
          "x-turnpike-console": `${halves["x-turnpike-console"]}, ${halves["x-turnpike-console"]}`,
        }),
      },
      { name: "the cookie beside the half of another session", shown: ({ cookie }, other) => ({ ...other, cookie }) },
      { name: "the half of the page", shown: (halves) => ({ "x-turnpike-console": halves["x-turnpike-console"] }) },
    ];
    for (const { name, shown } of rows)
      test(`${name}, neither to read nor to follow nor to change`, async () => {
        const adminApi = await office();
        const halves = await signIn(adminApi);
        const headers = shown(halves, await signIn(adminApi));
        const body = grant("grant-1", { namespaceId: "by-half" });
        const answers = [
          await ask(adminApi, "/admin/v1/session", { headers }),
          await ask(adminApi, "/admin/v1/events?namespaceId=by-half", { headers }),
          await ask(adminApi, "/admin/v1/grants", { body, headers }),
        ];
        expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
        expect(await adminApi.stores.grants.find("by-half", "grant-1")).toBeUndefined();
        expect(await statusOf(adminApi, halves)).toBe(200);
      });
  });

  describe("a session does not become a token:", () => {
    const operators = { namespaceId: "operators", access: bobAs("admin") };
    const rows: { name: string; path: string; body(made: { id: string }, own: string): object; status: number }[] = [
      { name: "its own credential", path: "rotate", body: (_made, own) => ({ id: own }), status: 200 },
      { name: "the credential of another", path: "rotate", body: ({ id }) => ({ id }), status: 200 },
      { name: "a new operator", path: "", body: () => operators, status: 201 },
    ];
    const refusal = [
      403,
      "permission_denied",
      "With a session this needs your own token as well: send it as `currentToken`.",
    ];
    for (const { name, path, body, status } of rows) {
      test(`${name} needs the token that it is for, and no other`, async () => {
        const adminApi = await office();
        const bob = await enterAs(adminApi, "admin");
        const made = await adminApi.stores.credentials.create(operators);
        const headers = await signIn(adminApi, bob.token);
        const before = (await adminApi.stores.credentials.list({ limit: 1000 })).length;
        const sent = (more: object) =>
          ask(adminApi, `/admin/v1/credentials${path && `/${path}`}`, {
            body: { ...body(made, bob.id), ...more },
            headers,
          });
        const wrongs = [
          made.token,
          adminApi.tokens.operator,
          headers.cookie,
          headers["x-turnpike-console"],
          "no token",
        ];
        for (const more of [{}, ...wrongs.map((currentToken) => ({ currentToken }))])
          expect(said(await sent(more))).toEqual(refusal);
        expect(await adminApi.stores.credentials.list({ limit: 1000 })).toHaveLength(before);
        for (const { token } of [bob, made])
          expect(await adminApi.stores.credentials.verify(token, new Date())).toBeDefined();
        expect((await sent({ currentToken: bob.token })).status).toBe(status);
        const events = JSON.stringify(await changesIn(adminApi, "operators"));
        expect(events).not.toContain(bob.token.split("_")[2]);
      });
    }

    test("an auditor's own is no exception", async () => {
      const adminApi = await office();
      const bob = await enterAs(adminApi, "auditor");
      const headers = await signIn(adminApi, bob.token);
      const rotate = (more: object) =>
        ask(adminApi, "/admin/v1/credentials/rotate", { body: { id: bob.id, ...more }, headers });
      expect(said(await rotate({}))).toEqual(refusal);
      expect((await rotate({ currentToken: bob.token })).status).toBe(200);
    });

    test("a credential of an agent is made without it, as it acts for no operator", async () => {
      const adminApi = await office();
      const body = { namespaceId: "by-session", access };
      const headers = await signIn(adminApi);
      expect((await ask(adminApi, "/admin/v1/credentials", { body, headers })).status).toBe(201);
    });
  });

  describe("the cookie", () => {
    test("counts nothing beside an authorization header, whatever that is", async () => {
      const adminApi = await office();
      const halves = await signIn(adminApi);
      const { tokens } = adminApi;
      const statuses = [];
      for (const authorization of ["", "Bearer wrong", `Bearer ${tokens.agent}`, `Bearer ${tokens.operator}`])
        statuses.push(await statusOf(adminApi, { ...halves, authorization }));
      expect(statuses).toEqual([401, 401, 403, 200]);
      // With a token no half of the page is needed, because no browser sends a token by itself.
      const headers = { cookie: halves.cookie, authorization: `Bearer ${tokens.operator}` };
      expect((await ask(adminApi, "/admin/v1/codes", { body: {}, headers })).status).toBe(201);
    });

    test("counts nothing for a page of another origin, also one on another port, which only reads", async () => {
      const adminApi = await office();
      const halves = await signIn(adminApi);
      const statuses = [];
      for (const site of ["cross-site", "same-site", "", "none", "same-origin"])
        statuses.push(await statusOf(adminApi, { ...halves, "sec-fetch-site": site }));
      expect(statuses).toEqual([403, 403, 403, 200, 200]);
    });

    const rows: { name: string; cookie(pair: string): string; status: number }[] = [
      { name: "among others", cookie: (pair) => `a=b; ${pair}; c="d"`, status: 200 },
      { name: "without a space before it", cookie: (pair) => `a=b;${pair}`, status: 200 },
      { name: "after what is no cookie", cookie: (pair) => `;;=;x; ${pair}`, status: 200 },
      { name: "twice", cookie: (pair) => `${pair}; ${pair}`, status: 400 },
      { name: "beside an empty one", cookie: (pair) => `${pair}; turnpike=`, status: 400 },
      { name: "in quotes", cookie: (pair) => `turnpike="${pair.slice(9)}"`, status: 401 },
      { name: "in another case", cookie: (pair) => pair.replace("turnpike", "Turnpike"), status: 401 },
      { name: "as the end of another name", cookie: (pair) => `x${pair}`, status: 401 },
      { name: "as the value of another", cookie: (pair) => `x=${pair}`, status: 401 },
      { name: "cut short", cookie: (pair) => pair.slice(0, -1), status: 401 },
      { name: "without a value", cookie: () => "turnpike", status: 401 },
      { name: "that is empty", cookie: () => "", status: 401 },
    ];
    for (const { name, cookie, status } of rows) {
      test(`${name}: ${status}`, async () => {
        const adminApi = await office();
        const halves = await signIn(adminApi);
        expect(await statusOf(adminApi, { ...halves, cookie: cookie(halves.cookie) })).toBe(status);
      });
    }

    test("admits to the further pages of operators too", async () => {
      const adminApi = await office({ pages: { "/metrics": () => Promise.resolve(Response.json({ up: 1 })) } });
      expect((await ask(adminApi, "/metrics", { headers: await signIn(adminApi) })).status).toBe(200);
      expect((await ask(adminApi, "/metrics")).status).toBe(401);
    });
  });

  test("requests with a session count against the limit of its credential, and so does signing in", async () => {
    const adminApi = await office({ rateLimit: createRateLimit({ perSecond: 0.1, burst: 2 }) });
    const halves = await signIn(adminApi);
    expect([await statusOf(adminApi, halves), await statusOf(adminApi, halves)]).toEqual([200, 429]);
    expect((await ask(adminApi, sessions, { body: { token: adminApi.tokens.operator } })).status).toBe(429);
  });

  test("while sessions cannot be read, no one is admitted: that is an outage and no refusal", async () => {
    const database = await openFresh(kind);
    const adminApi = await openOffice(database);
    const headers = await signIn(adminApi);
    const { code } = await makeCode(adminApi);
    const fresh = await openOffice(database);
    await database.close();
    const body = { error: { code: "authority_unavailable" } };
    expect(await ask(fresh, "/admin/v1/session", { headers })).toMatchObject({ status: 503, body });
    expect(await ask(fresh, sessions, { body: { code } })).toMatchObject({ status: 503, body });
  });
});

test("a session that one host began is known to another, until its credential is revoked at either", async () => {
  const [here, there] = await openPair();
  const [one, other] = [await openOffice(here), await openOffice(there)];
  const bob = await enterAs(one, "admin");
  const halves = await signIn(one, bob.token);
  expect(await statusOf(other, halves)).toBe(200);
  expect((await one.post("/admin/v1/credentials/revoke", { id: bob.id })).status).toBe(200);
  expect(await statusOf(other, halves)).toBe(401);
});
