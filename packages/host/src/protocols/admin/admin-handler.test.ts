import { afterAll, describe, expect, test } from "vitest";
import { AuditEventSchema, type AuditEvent } from "turnpike/contracts";
import { z } from "zod";
import { adminRows, placesOf, type AdminRow, type Input } from "../../../test/admin-rows.ts";
import { newTenant } from "../../../test/databases.ts";
import {
  changesIn,
  officeTime,
  oona,
  openOffice,
  queryText,
  stateOf,
  type Office,
  type OfficeOptions,
  type Refusal,
} from "../../../test/office.ts";
import { access, alice, grant } from "../../../test/records.ts";
import type { Database } from "../../storage/database.ts";
import { openDatabase } from "../../storage/open-database.ts";
import { createRateLimit } from "../../access/rate-limit.ts";
import { adminRoutes, type AdminRoute, type AdminRouteName } from "../../admin-contract/index.ts";

const table = Object.entries(adminRows) as [AdminRouteName, AdminRow][];
const changing = table.filter(([, { action }]) => action !== undefined);
const posts = table.filter(([name]) => hasBody(name));
const queries = table.filter(([name]) => !hasBody(name));

function hasBody(name: AdminRouteName): boolean {
  const { request }: AdminRoute = adminRoutes[name];
  return request !== undefined;
}

/** The routes that need a credential. */
const closed = table.filter(([name]) => {
  const { isOpen }: AdminRoute = adminRoutes[name];
  return isOpen !== true;
});

/** One database for all tests: each has an office and tenants of its own. */
const shared = openDatabase(":memory:");
afterAll(async () => (await shared).close());

async function open(options?: OfficeOptions): Promise<{ office: Office; database: Database }> {
  const database = await shared;
  return { office: await openOffice(database, options), database };
}

let quiet: Promise<Office> | undefined;

/** One office for all tests whose requests are refused: nothing changes in it. */
async function openQuiet(): Promise<{ office: Office; database: Database }> {
  const database = await shared;
  return { office: await (quiet ??= openOffice(database)), database };
}

const inputs = new Map<AdminRow, Promise<{ tenant: string; input: Input; before: unknown }>>();

/** A tenant of the quiet office, in which an input of this row would be taken: one for all of its refusals. */
function prepared(row: AdminRow): Promise<{ tenant: string; input: Input; before: unknown }> {
  const prepare = async () => {
    const { office, database } = await openQuiet();
    const tenant = newTenant();
    const input = await row.input(office, tenant);
    return { tenant, input, before: await stateOf(database, tenant) };
  };
  const known = inputs.get(row) ?? prepare();
  inputs.set(row, known);
  return known;
}

/** Sends an input as its route takes it. */
function sendTo<Body = unknown>(
  office: Office,
  row: AdminRow,
  input: Input,
  as: "operator" | "agent" | "stranger" = "operator",
) {
  const { method } = row;
  const { path, query } = placesOf(row, input as Record<string, string>);
  if (posts.some(([, post]) => post === row)) return office.send<Body>(as, method, path, query);
  return office.send<Body>(as, method, `${path}?${queryText(query)}`);
}

/** What an office changed by a row, in the audit log of the tenant that it concerns. */
async function changesBy(office: Office, { auditTenant, action }: AdminRow, tenant: string): Promise<AuditEvent[]> {
  if (auditTenant === undefined) return changesIn(office, tenant);
  const all = await changesIn(office, auditTenant);
  return all.filter((event) => event.action === action && event.metadata?.["operator"] === office.operatorId);
}

function fails(): Promise<never> {
  return Promise.reject(new Error("s3cret-text-of-the-sink"));
}

test("the table has these routes and no others", () => {
  const told = Object.entries<AdminRoute>(adminRoutes).map(([name, { method, path }]) => `${name}: ${method} ${path}`);
  expect(told).toEqual(table.map(([name, { method, path }]) => `${name}: ${method} ${path}`));
});

describe("an operator is answered", () => {
  for (const [name, row] of table) {
    test(`${name}: with what its route promises, and never from a cache`, async () => {
      const { office } = await open();
      const { status, headers, body } = await sendTo(office, row, await row.input(office, newTenant()));
      const { isStream, isFile }: AdminRoute = adminRoutes[name];
      expect([status, body]).toEqual([row.status ?? 200, expect.any(isFile === true ? String : Object)]);
      expect(adminRoutes[name].response.parse(body)).toEqual(body);
      const other = isStream === true ? "text/event-stream" : "application/json";
      expect(headers.get("content-type")).toBe(isFile === true ? "application/vnd.sqlite3" : other);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-request-id")).toMatch(/^\S{1,128}$/);
      expect(office.errors).toEqual([]);
    });
  }

  test("with the id that the request came with, as everywhere in the service", async () => {
    const { office } = await open();
    const headers = { authorization: `Bearer ${office.tokens.operator}`, "x-request-id": "request-7" };
    const response = await office.handler(new Request("http://host/admin/v1/nothing", { headers }));
    expect(response?.headers.get("x-request-id")).toBe("request-7");
    expect(await response?.json()).toMatchObject({ error: { requestId: "request-7" } });
  });
});

describe("no one else is admitted", () => {
  const places = [
    ...closed.map(([, row]) => row),
    { method: "POST", path: "/admin/v1/nothing" },
    { method: "GET", path: "/admin/" },
  ];
  for (const { method, path } of places) {
    test(`to ${method} ${path}`, async () => {
      const { office } = await openQuiet();
      const body = method === "POST" ? {} : undefined;
      const unknown = await office.send("stranger", method, path, body);
      expect(unknown.status).toBe(401);
      expect(unknown.body.error.code).toBe("unauthenticated");
      expect(unknown.headers.get("www-authenticate")).toBe('Bearer realm="turnpike"');
      expect(unknown.body.error.requestId).toBe(unknown.headers.get("x-request-id"));
      const agent = await office.send("agent", method, path, body);
      expect(agent.status).toBe(403);
      expect(agent.body.error.code).toBe("permission_denied");
      expect(agent.headers.get("cache-control")).toBe("no-store");
    });
  }

  for (const [name, row] of closed.filter(([, { action }]) => action !== undefined)) {
    test(`and an agent that asks for ${name} changes and records nothing`, async () => {
      const { office, database } = await openQuiet();
      const { tenant, input, before } = await prepared(row);
      expect((await sendTo(office, row, input, "agent")).status).toBe(403);
      expect((await sendTo(office, row, input, "stranger")).status).toBe(401);
      expect(await stateOf(database, tenant)).toEqual(before);
      expect(await changesBy(office, row, tenant)).toEqual([]);
    });
  }

  const headersOf: { name: string; header(office: Office): string }[] = [
    { name: "another scheme", header: ({ tokens }) => `Basic ${tokens.operator}` },
    { name: "no scheme", header: ({ tokens }) => tokens.operator },
    { name: "two tokens", header: ({ tokens }) => `Bearer ${tokens.operator} ${tokens.operator}` },
    { name: "a wrong secret", header: ({ tokens }) => `Bearer ${tokens.operator.slice(0, -4)}0000` },
    { name: "an operator's id with an agent's secret", header: mixedToken },
    { name: "an empty token", header: () => "Bearer " },
  ];
  for (const { name, header } of headersOf) {
    test(`with ${name}`, async () => {
      const { office } = await openQuiet();
      const request = new Request("http://host/admin/v1/credentials", { headers: { authorization: header(office) } });
      expect((await office.handler(request))?.status).toBe(401);
    });
  }

  test("with an operator's token that expired, or from the very request after it was revoked", async () => {
    const { office } = await open();
    const operators = { actor: oona, owner: oona, purposes: ["operate"], admin: true };
    const made = { namespaceId: "operators", access: operators };
    const expired = await office.stores.credentials.create({ ...made, expiresAt: "2020-01-01T00:00:00Z" });
    const revoked = await office.stores.credentials.create(made);
    const status = async (token: string): Promise<number | undefined> => {
      const headers = { authorization: `bearer ${token}` };
      return (await office.handler(new Request("http://host/admin/v1/credentials", { headers })))?.status;
    };
    expect([await status(expired.token), await status(revoked.token)]).toEqual([401, 200]);
    expect((await office.post("/admin/v1/credentials/revoke", { id: revoked.id })).status).toBe(200);
    expect(await status(revoked.token)).toBe(401);
  });

  test("with a credential that says in so many words that it is no operator's", async () => {
    const { office } = await open();
    const { credentials } = office.stores;
    const { token } = await credentials.create({ namespaceId: "operators", access: { ...access, admin: false } });
    const headers = { authorization: `Bearer ${token}` };
    expect((await office.handler(new Request("http://host/admin/v1/grants", { headers })))?.status).toBe(403);
  });

  test("while the credentials cannot be read: that is an outage and no refusal", async () => {
    const database = await openDatabase(":memory:");
    const office = await openOffice(database);
    await database.close();
    const { status, body } = await office.send("operator", "GET", "/admin/v1/credentials");
    expect([status, body.error.code]).toEqual([503, "authority_unavailable"]);
    expect(office.errors).toHaveLength(1);
  });
});

function mixedToken({ tokens }: Office): string {
  return `Bearer ${tokens.operator.slice(0, 20)}${tokens.agent.slice(20)}`;
}

describe("a path knows its verbs alone", () => {
  const allowed: Readonly<Record<string, string>> = {
    "/admin/v1/credentials": "GET, POST",
    "/admin/v1/credentials/{id}": "GET",
    "/admin/v1/credentials/revoke": "POST",
    "/admin/v1/credentials/rotate": "POST",
    "/admin/v1/grants": "GET, POST",
    "/admin/v1/grants/derive": "POST",
    "/admin/v1/grants/revoke": "POST",
    "/admin/v1/grants/apply": "POST",
    "/admin/v1/namespaces/settings": "GET",
    "/admin/v1/grants/preview": "POST",
    "/admin/v1/tools": "GET",
    "/admin/v1/tools/try": "POST",
    "/admin/v1/escalations": "GET",
    "/admin/v1/escalations/{namespaceId}/{id}": "GET",
    "/admin/v1/escalations/approve": "POST",
    "/admin/v1/escalations/deny": "POST",
    "/admin/v1/escalations/withdraw": "POST",
    "/admin/v1/turns": "GET, POST",
    "/admin/v1/turns/{namespaceId}/{executionId}": "GET",
    "/admin/v1/turns/{namespaceId}/{executionId}/cancel": "POST",
    "/admin/v1/webhooks/deliveries": "GET",
    "/admin/v1/webhooks/retry": "POST",
    "/admin/v1/audit": "GET",
    "/admin/v1/audit/verify": "GET, POST",
    "/admin/v1/audit/export": "POST",
    "/admin/v1/audit/checkpoints": "GET",
    "/admin/v1/audit/key": "GET",
    "/admin/v1/tenants/delete": "POST",
    "/admin/v1/explanations": "POST",
    "/admin/v1/explanations/denial": "POST",
    "/admin/v1/namespaces": "GET, POST",
    "/admin/v1/names": "GET",
    "/admin/v1/mcp/servers": "GET",
    "/admin/v1/mcp/servers/{server}/review": "GET",
    "/admin/v1/mcp/servers/{server}/accept": "POST",
    "/admin/v1/events": "GET",
    "/admin/v1/search": "GET",
    "/admin/v1/sessions": "POST",
    "/admin/v1/session": "GET",
    "/admin/v1/sessions/end": "POST",
    "/admin/v1/codes": "POST",
    "/admin/v1/people": "GET",
    "/admin/v1/people/revoke": "POST",
    "/admin/v1/people/restore": "POST",
    "/admin/v1/connections": "GET",
    "/admin/v1/connections/show": "GET",
    "/admin/v1/connections/revoke": "POST",
    "/admin/v1/tenants": "GET",
    "/admin/v1/activity": "GET",
    "/admin/v1/hosts": "GET",
    "/admin/v1/audit/heads": "GET",
    "/admin/v1/principals": "GET",
    "/admin/v1/reach": "GET",
    "/admin/v1/reach/resource": "GET",
    "/admin/v1/reach/ever": "POST",
    "/admin/v1/invariants": "GET, POST",
    "/admin/v1/invariants/remove": "POST",
    "/admin/v1/invariants/check": "POST",
    "/admin/v1/backup": "POST",
    "/admin/v1/database/accept-loss": "POST",
  };
  test("and these are all of the paths", () => {
    expect(new Set(table.map(([, { path }]) => path))).toEqual(new Set(Object.keys(allowed)));
  });
  for (const [path, allow] of Object.entries(allowed)) {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      if (allow.split(", ").includes(method)) continue;
      test(`${method} ${path}: 405, and ${allow} is allowed`, async () => {
        const { office } = await openQuiet();
        const { status, headers, body } = await office.send("operator", method, path);
        expect([status, headers.get("allow")]).toEqual([405, allow]);
        expect(body.error.code).toBe("method_not_allowed");
      });
    }
  }

  for (const path of ["/admin/", "/admin/v1", "/admin/v1/grants/", "/admin/v1/Grants", "/admin/v2/grants"]) {
    test(`there is nothing at ${path}`, async () => {
      const { office } = await openQuiet();
      const { status, body } = await office.send("operator", "GET", path);
      expect([status, body.error.code]).toEqual([404, "not_found"]);
    });
  }

  for (const path of ["/v1/tools", "/", "/adminx/v1/grants", "/metrics", "/constructor", "/health"]) {
    test(`${path} is left to other handlers, for every caller`, async () => {
      const { office } = await openQuiet();
      expect(await office.handler(new Request(`http://host${path}`))).toBeUndefined();
    });
  }
});

describe("what an operator changes is in the audit log of the tenant it concerns", () => {
  for (const [name, row] of changing) {
    test(`${name}: before it is done and afterwards, with who did it`, async () => {
      const { office } = await open();
      const tenant = newTenant();
      const { headers } = await sendTo(office, row, await row.input(office, tenant));
      const events = await changesBy(office, row, tenant);
      expect(events.map(({ outcome }) => outcome)).toEqual(["allowed", "succeeded"]);
      for (const event of events) {
        expect(AuditEventSchema.safeParse(event)).toMatchObject({ success: true });
        expect(event).toMatchObject({
          type: "operator.changed",
          namespaceId: row.auditTenant ?? tenant,
          action: row.action,
          actor: { kind: "human", userId: "oona" },
          owner: { kind: "human", userId: "oona" },
          metadata: { operator: office.operatorId },
          traceId: headers.get("x-request-id"),
        });
      }
      expect(new Set(events.map(({ id }) => id)).size).toBe(2);
    });

    test(`${name}: a sink that refuses means that nothing is done`, async () => {
      const { office, database } = await open({ audit: { record: fails } });
      const tenant = newTenant();
      const input = await row.input(office, tenant);
      const before = await stateOf(database, tenant);
      const { status, body } = await sendTo<Refusal>(office, row, input);
      expect([status, body.error.code]).toEqual([503, "audit_unavailable"]);
      expect(JSON.stringify(body)).not.toContain("s3cret");
      expect(await stateOf(database, tenant)).toEqual(before);
      expect(office.errors).toHaveLength(1);
    });

    test(`${name}: a sink that refuses only the outcome does not undo it, and the operator of the host is told`, async () => {
      const recorded: string[] = [];
      const { office } = await open({
        audit: {
          record({ outcome }) {
            if (outcome !== "allowed") return fails();
            recorded.push(outcome);
            return Promise.resolve();
          },
        },
      });
      const { status } = await sendTo(office, row, await row.input(office, newTenant()));
      expect([status, recorded]).toEqual([row.status, ["allowed"]]);
      expect(office.auditErrors).toHaveLength(1);
    });
  }

  for (const [name, row] of changing) {
    const repeatable: readonly string[] = [
      "createCredential",
      "rotateCredential",
      "changeNamespaces",
      "deleteTenant",
      "cancelAnyTurn",
      "createSession",
      "createCode",
      "tryTool",
      "startTrialTurn",
      "createBackup",
      "retryDelivery",
      // There is nothing of that id any more.
      "removeInvariant",
    ];
    if (repeatable.includes(name)) continue;
    test(`${name}: a second time is a conflict, and the audit log does not say that it was done twice`, async () => {
      const { office } = await open();
      const tenant = newTenant();
      const input = await row.input(office, tenant);
      await sendTo(office, row, input);
      const again = await sendTo<Refusal>(office, row, input);
      expect([again.status, again.body.error.code]).toEqual([409, "conflict"]);
      const outcomes = (await changesBy(office, row, tenant)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === "succeeded")).toHaveLength(1);
      expect(office.errors).toEqual([]);
    });
  }

  for (const [name, row] of table.filter(([, { action }]) => action === undefined)) {
    test(`${name} changes and records nothing`, async () => {
      const { office, database } = await open({ audit: { record: fails } });
      const tenant = newTenant();
      const input = await row.input(office, tenant);
      const [before, events] = [await stateOf(database, tenant), await office.stores.audit.list(tenant, { limit: 9 })];
      expect((await sendTo(office, row, input)).status).toBe(200);
      expect(await stateOf(database, tenant)).toEqual(before);
      expect(await office.stores.audit.list(tenant, { limit: 9 })).toEqual(events);
    });
  }
});

describe("a body that does not fit is refused with its place, and its values are not repeated", () => {
  const secret = "do-not-repeat-me";
  const refused = async (row: AdminRow, change: (input: Input) => unknown) => {
    const { office } = await openQuiet();
    const { path, query } = placesOf(row, (await prepared(row)).input);
    const { status, body } = await office.send("operator", "POST", path, change(query));
    expect(status).toBe(400);
    expect(JSON.stringify(body)).not.toContain(secret);
    return body.error;
  };
  for (const [name, row] of posts) {
    for (const key of keysOf(name)) {
      test(`${name}: ${key} of another type`, async () => {
        const { code, message } = await refused(row, (input) => ({ ...input, [key]: [secret] }));
        expect([code, message]).toEqual(["invalid_request", expect.stringContaining(`/${key}`)]);
      });
    }
    test(`${name}: an unknown key`, async () => {
      const { code, message } = await refused(row, (input) => ({ ...input, surprise: secret }));
      expect([code, message]).toEqual(["invalid_request", expect.stringContaining("/surprise: expected no such key")]);
    });
    for (const [what, text] of Object.entries({ "no JSON": `{"${secret}`, nothing: "" })) {
      test(`${name}: ${what}`, async () => {
        expect(await refused(row, () => text)).toMatchObject({ code: "invalid_json" });
      });
    }
    test(`${name}: a key that would change the prototype`, async () => {
      const { code } = await refused(row, (input) => {
        const members = JSON.stringify(input).slice(1);
        return `{"__proto__":{}${members === "}" ? "" : ","}${members}`;
      });
      expect(code).toBe("invalid_request");
    });
  }
  // Some routes take nothing, and one takes a tenant or all of them.
  for (const [name, row] of posts.filter(([one]) => keysOf(one).length > 0 && one !== "checkInvariants")) {
    test(`${name}: nothing at all in it`, async () => {
      const { code, message } = await refused(row, () => ({}));
      expect([code, message]).toEqual(["invalid_request", expect.stringMatching(/^\/\w+: expected \w/)]);
    });
  }
  // After all of those above.
  for (const [name, row] of posts) {
    test(`${name}: nothing that was refused is changed or recorded`, async () => {
      const { office, database } = await openQuiet();
      const { tenant, before } = await prepared(row);
      expect(await stateOf(database, tenant)).toEqual(before);
      expect(await changesBy(office, row, tenant)).toEqual([]);
    });
  }
});

/** The keys that a body or a query of this route may have. */
function keysOf(name: AdminRouteName): string[] {
  const { request, query }: AdminRoute = adminRoutes[name];
  const schema = request instanceof z.ZodUnion ? request.options[0] : (request ?? query);
  if (!(schema instanceof z.ZodObject)) throw new Error(`${name} takes no object.`);
  return Object.keys(schema.shape);
}

describe("a query that does not fit is refused with its place, and its values are not repeated", () => {
  const secret = "do-not-repeat-me";
  const refused = async ({ method, path }: Pick<AdminRow, "method" | "path">, query: string): Promise<string> => {
    const { office } = await openQuiet();
    const { status, body } = await office.send("operator", method, `${path}?${query}`);
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    expect(JSON.stringify(body)).not.toContain(secret);
    return body.error.message;
  };
  const free = new Set([
    "namespaceId",
    "cursor",
    "before",
    "id",
    "traceId",
    "resource",
    "search",
    "purpose",
    "action",
    "credentialId",
    "tool",
    "grant",
    "reason",
    "text",
    "parent",
  ]);
  for (const [name, row] of queries) {
    const { method } = row;
    const good = async (changes: Record<string, string> = {}) => {
      const { input } = await prepared(row);
      return placesOf(row, { ...(input as Record<string, string>), ...changes });
    };
    for (const key of keysOf(name)) {
      const isInPath = row.path.includes(`{${key}}`);
      test(`${name}: ${key} that is none`, async () => {
        const none = isInPath ? secret.repeat(100) : free.has(key) ? "" : secret;
        const { path, query } = await good({ [key]: none });
        expect(await refused({ method, path }, queryText(query))).toMatch(new RegExp(`^/${key}: expected`));
      });
      test(`${name}: ${key} twice`, async () => {
        const { path, query } = await good();
        const sent = `${queryText({ ...query, [key]: secret })}${isInPath ? "" : `&${key}=${secret}`}`;
        expect(await refused({ method, path }, sent)).toBe(`/${key}: expected one value`);
      });
    }
    test(`${name}: an unknown key`, async () => {
      const { path, query } = await good();
      expect(await refused({ method, path }, queryText({ ...query, surprise: secret }))).toBe(
        "/surprise: expected no such key",
      );
    });
    test(`${name}: a key that would change the prototype`, async () => {
      const { path, query } = await good();
      expect(await refused({ method, path }, `${queryText(query)}&__proto__=${secret}`)).toContain("__proto__");
    });
  }

  for (const limit of ["0", "-1", "501", "1.5", "all", "", "NaN", "Infinity"]) {
    test(`a page of ${JSON.stringify(limit)}`, async () => {
      expect(await refused(adminRows.listCredentials, queryText({ limit }))).toMatch(/^\/limit: expected/);
    });
  }

  test("a repeated key is named as any other place: as a pointer, with an end, and with nothing hidden in it", async () => {
    const key = `a/b\u0000${"x".repeat(500)}`;
    const message = await refused(adminRows.listCredentials, `${queryText({ [key]: 1 })}&${queryText({ [key]: 2 })}`);
    expect(message).toMatch(/^\/a~1b\\u\{0\}x+/);
    expect(message.length).toBeLessThan(200);
  });
});

describe("secrets", () => {
  test("no answer but those that make a token has one in it, and none has a hash", async () => {
    const { office, database } = await open();
    const tenant = newTenant();
    const made = await sendTo<{ id: string; token: string }>(
      office,
      adminRows.createCredential,
      await adminRows.createCredential.input(office, tenant),
    );
    expect(made.body.token).toMatch(/^tp_[0-9a-f]{16}_[0-9a-f]{64}$/);
    const answers: unknown[] = [];
    for (const [name, row] of table) {
      if (name === "createCredential" || name === "rotateCredential") continue;
      const input = { ...(await row.input(office, newTenant())), ...(name === "listCredentials" && { limit: 500 }) };
      answers.push((await sendTo(office, row, input)).body);
    }
    answers.push((await office.get("/admin/v1/credentials", { namespaceId: tenant })).body);
    answers.push((await office.get("/admin/v1/credentials", { limit: 500 })).body);
    answers.push((await office.get("/admin/v1/audit", { namespaceId: tenant })).body);
    answers.push((await office.get("/admin/v1/audit", { namespaceId: "operators" })).body);
    answers.push((await office.post("/admin/v1/credentials/revoke", { id: made.body.id })).body);
    const said = JSON.stringify(answers);
    const { tokens } = office;
    for (const token of [made.body.token, tokens.operator, tokens.agent]) expect(said).not.toContain(token.slice(-64));
    const stored = await database.db.selectFrom("credentials").select("secret_hash").execute();
    expect(stored.length).toBeGreaterThan(3);
    for (const { secret_hash: hash } of stored) expect(said + JSON.stringify(made.body)).not.toContain(hash);
  });
});

describe("the limit of requests", () => {
  test("a credential that asks too often is told when to come back, and others are not", async () => {
    const { office } = await open({ rateLimit: createRateLimit({ perSecond: 0.1, burst: 2 }) });
    const other = await office.stores.credentials.create({
      namespaceId: "operators",
      access: { actor: alice, owner: alice, purposes: ["operate"], admin: true },
    });
    const read = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await office.handler(new Request("http://host/admin/v1/credentials", { headers }));
      return { status: response?.status, body: await response?.json(), headers: response?.headers };
    };
    const answers = [];
    for (let count = 0; count < 3; count += 1) answers.push(await read(office.tokens.operator));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.body).toMatchObject({ error: { code: "rate_limited" } });
    expect(answers[2]?.headers?.get("retry-after")).toBe("10");
    expect(answers[0]?.headers?.get("ratelimit")).toMatch(/^"default";r=1;/);
    expect((await read(other.token)).status).toBe(200);
  });

  test("an agent that calls too often is told so like every caller", async () => {
    const { office } = await open({ rateLimit: createRateLimit({ perSecond: 0.1, burst: 2 }) });
    const said: number[] = [];
    while (said.length < 3) said.push((await office.send("agent", "GET", "/admin/v1/credentials")).status);
    expect(said).toEqual([403, 403, 429]);
  });

  test("a change beyond the limit is not made and not in the audit log", async () => {
    const { office } = await open({ rateLimit: createRateLimit({ perSecond: 0.1, burst: 1 }) });
    const tenant = newTenant();
    await office.get("/admin/v1/credentials");
    const { status } = await office.post("/admin/v1/grants", grant("grant-1", { namespaceId: tenant }));
    expect(status).toBe(429);
    expect(await office.stores.grants.find(tenant, "grant-1")).toBeUndefined();
    expect(await changesIn(office, tenant)).toEqual([]);
  });
});

describe("further pages of the operators", () => {
  const pages = {
    "/metrics": () => Promise.resolve(new Response('{"turnpike_up":1}', { headers: { "content-type": "text/plain" } })),
    "/broken": fails,
  };

  test("are for operators alone", async () => {
    const { office } = await open({ pages });
    const said = [];
    for (const as of ["stranger", "agent", "operator"] as const)
      said.push((await office.send(as, "GET", "/metrics")).status);
    expect(said).toEqual([401, 403, 200]);
    const { headers, body } = await office.send("operator", "GET", "/metrics");
    expect([headers.get("content-type"), body]).toEqual(["text/plain", { turnpike_up: 1 }]);
  });

  test("are only read", async () => {
    const { office } = await open({ pages });
    const { status, headers, body } = await office.send("operator", "POST", "/metrics", {});
    expect([status, headers.get("allow"), body.error.code]).toEqual([405, "GET", "method_not_allowed"]);
  });

  test("that fail say so without a word of why, and do not call a bug an outage", async () => {
    const { office } = await open({ pages });
    const { status, body } = await office.send("operator", "GET", "/broken");
    expect([status, body.error.code]).toEqual([500, "internal_error"]);
    expect(JSON.stringify(body)).not.toContain("s3cret");
    expect(office.errors).toMatchObject([{ error: "Error: s3cret-text-of-the-sink" }]);
  });

  test("that a database did not answer are unavailable, and worth another try", async () => {
    const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
    const { office } = await open({ pages: { "/full": () => Promise.reject(full) } });
    const { status, body } = await office.send("operator", "GET", "/full");
    expect([status, body.error.code]).toEqual([503, "authority_unavailable"]);
    expect(office.errors).toMatchObject([{ error: "Error: database or disk is full" }]);
  });

  test("count against the limit of requests", async () => {
    const { office } = await open({ pages, rateLimit: createRateLimit({ perSecond: 0.1, burst: 1 }) });
    await office.send("operator", "GET", "/metrics");
    expect((await office.send("operator", "GET", "/metrics")).status).toBe(429);
  });

  test("that are not there are left to others", async () => {
    const { office } = await open({ pages });
    expect(await office.handler(new Request("http://host/metrics/"))).toBeUndefined();
  });
});

test("the host's own clock decides, whatever the time is elsewhere", async () => {
  const { office } = await open();
  const tenant = newTenant();
  await office.stores.grants.issue(grant("grant-1", { namespaceId: tenant }));
  await office.post("/admin/v1/grants/revoke", { namespaceId: tenant, id: "grant-1" });
  expect((await office.stores.grants.findStored(tenant, "grant-1"))?.revokedAt).toBe(officeTime);
});
