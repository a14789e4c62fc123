import { describe, expect, test } from "vitest";
import { openDecisionPoint } from "../../../test/authzen.ts";

const one = "/access/v1/evaluation";
const several = "/access/v1/evaluations";
const alice = { type: "human", id: "alice" };
const bob = { type: "human", id: "bob" };
const record1 = { type: "record", id: "record-1" };
const readsRecord = { subject: alice, action: { name: "read" }, resource: record1 };

const permit = { decision: true, context: { reason_code: "allowed" } };
const denial = { decision: false, context: { reason_code: "no_matching_grant" } };

/** Status and body of an answer. */
async function ask(body: unknown, { as = "gateway", path = one, headers = {} } = {}): Promise<[number, unknown]> {
  const response = await openDecisionPoint().post(as, path, body, headers);
  return [response.status, await response.json()];
}

async function refusalOf(body: unknown, options?: Parameters<typeof ask>[1]): Promise<unknown[]> {
  const [status, answer] = await ask(body, options);
  const { error } = answer as { error?: { code: string; message: string } };
  return [status, error?.code, error?.message];
}

describe("the certification's Basic Core", () => {
  for (const row of [
    { name: "a permit", body: readsRecord, answer: permit },
    { name: "a denial", body: { ...readsRecord, subject: bob, action: { name: "write" } }, answer: denial },
    {
      name: "a context that says nothing to us",
      body: { ...readsRecord, context: { time: "2025-06-27T18:03-07:00", ip: "192.168.1.1" } },
      answer: permit,
    },
    {
      name: "properties that no rule needs",
      body: {
        subject: { ...alice, properties: { department: "Sales", role: "manager" } },
        action: { name: "read", properties: { method: "GET" } },
        resource: { ...record1, properties: { status: "active", owner: "bob" } },
      },
      answer: permit,
    },
    { name: "unknown fields", body: { ...readsRecord, foo: "bar", futureField: { nested: true } }, answer: permit },
  ]) {
    test(`${row.name} is answered 200`, async () => {
      expect(await ask(row.body)).toEqual([200, row.answer]);
    });
  }

  const { subject, action, resource } = readsRecord;
  for (const row of [
    { name: "no subject", body: { action, resource }, says: "/subject: expected object" },
    { name: "no action", body: { subject, resource }, says: "/action: expected object" },
    { name: "no resource", body: { subject, action }, says: "/resource: expected object" },
    {
      name: "a subject without a type",
      body: { ...readsRecord, subject: { id: "alice" } },
      says: '/subject/type: expected "human" or "agent" or "group" or "service"',
    },
    {
      name: "a subject without an id",
      body: { ...readsRecord, subject: { type: "human" } },
      says: "/subject/id: expected string",
    },
    { name: "an action without a name", body: { ...readsRecord, action: {} }, says: "/action/name: expected string" },
    {
      name: "a resource without a type",
      body: { ...readsRecord, resource: { id: "x" } },
      says: "/resource/type: expected string",
    },
    {
      name: "a resource without an id",
      body: { ...readsRecord, resource: { type: "x" } },
      says: "/resource/id: expected string",
    },
    { name: "a subject that is a text", body: { ...readsRecord, subject: "alice" }, says: "/subject: expected object" },
    {
      name: "a name that is a number",
      body: { ...readsRecord, action: { name: 123 } },
      says: "/action/name: expected string",
    },
    {
      name: "a subject of an unknown type",
      body: { ...readsRecord, subject: { type: "user", id: "alice" } },
      says: '/subject/type: expected "human" or "agent" or "group" or "service"',
    },
    { name: "a context that is a text", body: { ...readsRecord, context: "now" }, says: "/context: expected object" },
    {
      name: "an owner that is none",
      body: { ...readsRecord, context: { owner: "alice" } },
      says: "/context/owner: expected kind:id, such as human:alice",
    },
    {
      name: "an authority that is none",
      body: { ...readsRecord, context: { authority: { kind: "human" } } },
      says: "/context/authority: expected string",
    },
    { name: "a list", body: [readsRecord], says: "(root): expected object" },
  ]) {
    test(`${row.name} is 400`, async () => {
      expect(await refusalOf(row.body)).toEqual([400, "invalid_request", row.says]);
    });
  }

  for (const path of [one, several])
    for (const { header, value, place } of [
      { header: "x-authority", value: "human:bob", place: "context.authority" },
      { header: "x-purpose", value: "serve", place: "context.purpose" },
      { header: "x-purpose", value: "", place: "context.purpose" },
    ])
      test(`${header}: ${JSON.stringify(value)} sent to ${path} is 400, which says where it belongs`, async () => {
        const says = `${header}: not taken here. Say it in the evaluation, as ${place}.`;
        const sent = { path, headers: { [header]: value } };
        expect(await refusalOf(readsRecord, sent)).toEqual([400, "invalid_request", says]);
        expect((await refusalOf(readsRecord, { ...sent, as: "stranger" }))[0]).toBe(401);
      });

  for (const row of [
    { name: "malformed JSON", body: "{", code: "invalid_json" },
    { name: "an empty body", body: "", code: "invalid_json" },
  ]) {
    test(`${row.name} is 400`, async () => {
      expect((await refusalOf(row.body)).slice(0, 2)).toEqual([400, row.code]);
    });
  }

  for (const type of ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"]) {
    test(`the content type ${JSON.stringify(type)} is 400, on both paths`, async () => {
      const headers = { "content-type": type };
      const refused = [400, "invalid_request", "content-type: expected application/json"];
      expect(await refusalOf(readsRecord, { headers })).toEqual(refused);
      expect(await refusalOf(readsRecord, { headers, path: several })).toEqual(refused);
    });
  }

  test("a content type may name its charset", async () => {
    const headers = { "content-type": "Application/JSON; charset=utf-8" };
    expect(await ask(readsRecord, { headers })).toEqual([200, permit]);
  });

  test("a request id is echoed, on an error too, and made when there is none", async () => {
    const { post } = openDecisionPoint();
    const id = "bfe9eb29-ab87-4ca3-be83-a1d5d8305716";
    for (const body of [readsRecord, {}]) {
      const response = await post("gateway", one, body, { "x-request-id": id });
      expect(response.headers.get("x-request-id")).toBe(id);
    }
    expect((await post("gateway", one, readsRecord)).headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("the same request has the same answer again and again, because nothing is consumed", async () => {
    const { post } = openDecisionPoint();
    const body = { ...readsRecord, subject: bob, action: { name: "delete" } };
    for (let time = 0; time < 3; time += 1) expect(await (await post("gateway", one, body)).json()).toEqual(permit);
  });
});

describe("the certification's Batch Core", () => {
  const evaluations = [{ action: { name: "read" } }, { action: { name: "write" } }];

  for (const row of [
    {
      name: "defaults count for every evaluation, and answers keep their order",
      body: { subject: bob, resource: record1, evaluations },
      answer: [permit, denial],
    },
    {
      name: "evaluations may say everything themselves",
      body: { evaluations: [readsRecord, { ...readsRecord, subject: bob, action: { name: "write" } }] },
      answer: [permit, denial],
    },
    {
      name: "an evaluation comes before the default",
      body: { ...readsRecord, evaluations: [{ subject: bob, action: { name: "write" } }, {}] },
      answer: [denial, permit],
    },
    {
      name: "an evaluation need not repeat the type of its default",
      body: { ...readsRecord, resource: { type: "record" }, evaluations: [{ resource: { id: "record-1" } }] },
      answer: [permit],
    },
    {
      name: "a context counts for every evaluation that has none of its own",
      body: {
        subject: bob,
        action: { name: "read" },
        resource: { type: "record", id: "bills" },
        context: { purpose: "bill" },
        evaluations: [{}, { context: { time: "now" } }],
      },
      answer: [permit, denial],
    },
    {
      name: "an evaluation that is malformed is a denial, and says why",
      body: {
        subject: alice,
        action: { name: "read" },
        evaluations: [{ resource: record1 }, {}, 7, { subject: null }],
      },
      answer: [
        permit,
        ...["/resource: expected object", "(root): expected object", "/subject: expected object"].map((message) => ({
          decision: false,
          context: { reason_code: "invalid_request", error: { status: 400, message } },
        })),
      ],
    },
  ]) {
    test(row.name, async () => {
      expect(await ask(row.body, { path: several })).toEqual([200, { evaluations: row.answer }]);
    });
  }

  for (const more of [{}, { evaluations: [] }, { options: {} }]) {
    test(`with ${JSON.stringify(more)} the request is a single evaluation`, async () => {
      expect(await ask({ ...readsRecord, ...more }, { path: several })).toEqual([200, permit]);
      expect((await refusalOf({ ...more, subject: alice }, { path: several })).slice(0, 2)).toEqual([
        400,
        "invalid_request",
      ]);
    });
  }

  const three = { subject: bob, resource: record1, evaluations: [...evaluations, { action: { name: "read" } }] };
  for (const row of [
    { semantic: "execute_all", body: three, answer: [permit, denial, permit] },
    { semantic: "deny_on_first_deny", body: three, answer: [permit, denial] },
    { semantic: "permit_on_first_permit", body: three, answer: [permit] },
    {
      semantic: "permit_on_first_permit",
      body: { ...three, evaluations: three.evaluations.slice(1) },
      answer: [denial, permit],
    },
  ]) {
    test(`${row.semantic} answers ${row.answer.length} and decides no further`, async () => {
      const { post, audit } = openDecisionPoint();
      const body = { ...row.body, options: { evaluations_semantic: row.semantic, another: "value" } };
      const response = await post("gateway", several, body);
      expect(await response.json()).toEqual({ evaluations: row.answer });
      expect(audit.events).toHaveLength(row.answer.length);
    });
  }

  test("an evaluation that is malformed counts as the first denial", async () => {
    const { post, audit } = openDecisionPoint();
    const options = { evaluations_semantic: "deny_on_first_deny" };
    const response = await post("gateway", several, { ...three, options, evaluations: [{ action: {} }, {}] });
    expect(await response.json()).toMatchObject({ evaluations: [{ context: { reason_code: "invalid_request" } }] });
    expect(audit.events).toEqual([]);
  });

  for (const row of [
    {
      name: "an unknown semantic",
      more: { options: { evaluations_semantic: "maybe" } },
      at: "/options/evaluations_semantic",
    },
    {
      name: "a semantic of another type",
      more: { options: { evaluations_semantic: 1 } },
      at: "/options/evaluations_semantic",
    },
    { name: "options that are a list", more: { options: [] }, at: "/options" },
    { name: "evaluations that are no list", more: { evaluations: {} }, at: "/evaluations" },
    { name: "a default that is a text", more: { subject: "alice", evaluations: [{}] }, at: "/subject" },
    {
      name: "a default owner that is none",
      more: { context: { owner: "alice" }, evaluations: [{}] },
      at: "/context/owner",
    },
    { name: "more than 256", more: { evaluations: Array.from({ length: 257 }, () => ({})) }, at: "/evaluations" },
  ]) {
    test(`${row.name} is 400 for all of them, and nothing is decided`, async () => {
      const { post, audit } = openDecisionPoint();
      const response = await post("gateway", several, { ...readsRecord, ...row.more });
      const { error } = (await response.json()) as { error: { message: string } };
      expect([response.status, error.message.split(":")[0]]).toEqual([400, row.at]);
      expect(audit.events).toEqual([]);
    });
  }

  test("each evaluation counts against the rate of the credential", async () => {
    const { post } = openDecisionPoint({ perSecond: 1, burst: 3 });
    const body = { ...readsRecord, evaluations: Array.from({ length: 256 }, () => ({})) };
    expect((await post("gateway", several, body)).status).toBe(200);
    const refused = await post("gateway", one, readsRecord);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "254"]);
    expect((await post("assistant", one, { ...readsRecord, subject: { type: "agent", id: "assistant" } })).status).toBe(
      200,
    );
  });
});

describe("who may ask", () => {
  const own = {
    subject: { type: "agent", id: "assistant" },
    action: { name: "read" },
    resource: { type: "record", id: "notes" },
  };
  const inAcme = { context: { tenant: "acme", owner: "service:records", purpose: "serve" } };
  const shown = { decision: true, context: { reason_code: "allowed", matched_grant: "alice-writes" } };
  const onlyOwn = "This credential asks about its own actor alone. One made with --evaluates asks about others.";

  for (const row of [
    { name: "a credential asks about its own actor", as: "assistant", body: own, answer: permit },
    {
      name: "a credential may name its own tenant",
      as: "assistant",
      body: { ...own, context: { tenant: "acme" } },
      answer: permit,
    },
    {
      name: "whose grants count is the owner's that is named",
      as: "assistant",
      body: { ...own, context: { owner: "service:records" } },
      answer: denial,
    },
    {
      name: "whose grants count can be named too",
      as: "assistant",
      body: { ...own, resource: record1, context: { authority: "service:records" } },
      answer: permit,
    },
    {
      name: "an enforcement point asks about everyone in its tenant",
      as: "gateway",
      body: readsRecord,
      answer: permit,
    },
    {
      name: "an enforcement point sees nothing of another tenant",
      as: "gateway",
      body: { ...readsRecord, resource: { type: "record", id: "secrets" } },
      answer: denial,
    },
    {
      name: "the same subject in another tenant is another one",
      as: "other gateway",
      body: readsRecord,
      answer: denial,
    },
    {
      name: "an admin of all tenants names one, and sees the grant",
      as: "admin",
      body: { ...readsRecord, ...inAcme },
      answer: shown,
    },
    { name: "an auditor may ask", as: "auditor", body: { ...readsRecord, ...inAcme }, answer: shown },
    {
      name: "an operator of one tenant need not name it",
      as: "admin of acme",
      body: { ...readsRecord, context: { owner: "service:records" } },
      answer: shown,
    },
  ]) {
    test(row.name, async () => {
      expect(await ask(row.body, row)).toEqual([200, row.answer]);
      expect(await ask({ evaluations: [row.body] }, { ...row, path: several })).toEqual([
        200,
        { evaluations: [row.answer] },
      ]);
    });
  }

  for (const row of [
    {
      name: "a credential that asks about another subject",
      as: "assistant",
      body: readsRecord,
      refused: [403, "permission_denied", onlyOwn],
    },
    {
      name: "a credential that asks about its own id as another kind",
      as: "assistant",
      body: { ...own, subject: { type: "human", id: "assistant" } },
      refused: [403, "permission_denied", onlyOwn],
    },
    {
      name: "an enforcement point that names another tenant",
      as: "gateway",
      body: { ...readsRecord, context: { tenant: "other" } },
      refused: [403, "permission_denied", "This credential is of another tenant."],
    },
    {
      name: "a purpose that the credential does not allow",
      as: "gateway",
      body: { ...readsRecord, context: { purpose: "spy" } },
      refused: [403, "purpose_not_allowed", "This credential does not allow that purpose."],
    },
    {
      name: "an operator of one tenant who names another",
      as: "admin of acme",
      body: { ...readsRecord, context: { tenant: "other" } },
      refused: [403, "permission_denied", "You are an operator of another tenant."],
    },
    {
      name: "an operator of all tenants who names none",
      as: "admin",
      body: readsRecord,
      refused: [400, "invalid_request", "/context/tenant: expected the tenant to ask about"],
    },
    {
      name: "a tenant that does not exist",
      as: "admin",
      body: { ...readsRecord, context: { tenant: "nowhere" } },
      refused: [404, "not_found", "There is no tenant of this name."],
    },
    {
      name: "a reviewer",
      as: "reviewer",
      body: { ...readsRecord, ...inAcme },
      refused: [403, "permission_denied", "This is not for operators with the role reviewer."],
    },
    {
      name: "stranger",
      as: "stranger",
      body: readsRecord,
      refused: [401, "unauthenticated", "Send a valid credential: authorization: Bearer <token>."],
    },
  ]) {
    test(`${row.name} is refused, alone and among others, and nothing is decided`, async () => {
      const { post, audit } = openDecisionPoint();
      expect(await refusalOf(row.body, row)).toEqual(row.refused);
      const { context } = row.body as { context?: object };
      const response = await post(row.as, several, { ...(context && { context }), evaluations: [own, row.body] });
      expect(response.status).toBe(row.refused[0]);
      expect(audit.events).toEqual([]);
    });
  }

  test("properties are never believed", async () => {
    const claims = { evaluates: true, admin: true, role: "admin", owner: "human:alice", tenant: "other" };
    const body = {
      subject: { ...bob, properties: claims },
      action: { name: "write", properties: claims },
      resource: { ...record1, properties: claims },
      properties: claims,
    };
    expect(await ask(body)).toEqual([200, denial]);
    expect((await refusalOf(body, { as: "assistant" })).slice(0, 2)).toEqual([403, "permission_denied"]);
  });

  test("keys that have a meaning elsewhere have none here", async () => {
    const forged = '{"__proto__":{"type":"human","id":"alice"},"constructor":{"prototype":{"id":"alice"}}}';
    const body = `{"subject":${forged},"action":{"name":"read"},"resource":{"type":"record","id":"record-1"}}`;
    expect((await refusalOf(body)).slice(0, 2)).toEqual([400, "invalid_request"]);
    const batch = `{"__proto__":${JSON.stringify(readsRecord)},"evaluations":[{"__proto__":${JSON.stringify(readsRecord)}}]}`;
    expect(await ask(batch, { path: several })).toMatchObject([200, { evaluations: [{ decision: false }] }]);
    expect((await refusalOf({ ...readsRecord, subject: { type: "constructor", id: "alice" } })).slice(0, 2)).toEqual([
      400,
      "invalid_request",
    ]);
  });

  test("a decision is in the audit log as of the subject, in the trace of the caller", async () => {
    const { post, audit } = openDecisionPoint();
    const response = await post(
      "gateway",
      one,
      { ...readsRecord, subject: bob, action: { name: "write" } },
      { "x-trace-id": "t-1" },
    );
    expect(response.headers.get("x-trace-id")).toBe("t-1");
    expect(audit.events).toMatchObject([
      {
        type: "authorization.checked",
        outcome: "denied",
        reason: "no_matching_grant",
        traceId: "t-1",
        namespaceId: "acme",
        actor: { kind: "human", userId: "bob" },
        owner: { kind: "service", serviceId: "records" },
        purpose: "serve",
        action: "write",
        resource: { namespace: "record", path: ["record-1"] },
        metadata: {
          askedBy: { actor: { kind: "service", serviceId: "gateway" }, credential: expect.any(String) as string },
        },
      },
    ]);
  });
});

describe("the id of a resource", () => {
  for (const row of [
    { id: "record-1/part", answer: permit, subject: bob },
    { id: "a%20b/50%25/%C3%BC", answer: permit, subject: bob },
    { id: "a b/50%25/ü", answer: permit, subject: bob },
    { id: "record%2D1", answer: permit, subject: bob },
    { id: "", answer: denial, subject: bob },
    { id: "record-12", answer: denial, subject: bob },
    { id: "record%252D1", answer: denial, subject: bob },
  ]) {
    test(`${JSON.stringify(row.id)} is a path, ${row.answer === permit ? "inside" : "outside"} what is granted`, async () => {
      expect(await ask({ ...readsRecord, ...row, resource: { type: "record", id: row.id } })).toEqual([
        200,
        row.answer,
      ]);
    });
  }

  for (const id of [
    "50%",
    "%zz",
    "%ff",
    "/record-1",
    "record-1/",
    "a//b",
    "..",
    "record-1/%2e%2e",
    "a%2Fb",
    "a%5Cb",
    "a%00b",
  ]) {
    test(`${JSON.stringify(id)} is 400`, async () => {
      expect((await refusalOf({ ...readsRecord, resource: { type: "record", id } })).slice(0, 2)).toEqual([
        400,
        "invalid_request",
      ]);
    });
  }
});

describe("the configuration", () => {
  test("is public and names absolute URLs of both endpoints", async () => {
    const { send } = openDecisionPoint();
    const headers = { host: "gate.example:8443", "x-request-id": "r-1" };
    const response = await send(new Request("http://host/.well-known/authzen-configuration", { headers }));
    expect([response.status, response.headers.get("content-type"), response.headers.get("x-request-id")]).toEqual([
      200,
      "application/json",
      "r-1",
    ]);
    expect(await response.json()).toEqual({
      policy_decision_point: "http://gate.example:8443",
      access_evaluation_endpoint: "http://gate.example:8443/access/v1/evaluation",
      access_evaluations_endpoint: "http://gate.example:8443/access/v1/evaluations",
    });
  });

  test("is all that is public", async () => {
    const { send } = openDecisionPoint();
    for (const path of [one, several, "/access/v1/search/subject"]) {
      expect((await send(new Request(`http://host${path}`))).status).toBe(401);
    }
    const headers = { authorization: "Bearer gateway" };
    expect((await send(new Request(`http://host${one}`, { headers }))).status).toBe(405);
    expect((await send(new Request("http://host/access/v1/search/subject", { headers }))).status).toBe(404);
  });
});
