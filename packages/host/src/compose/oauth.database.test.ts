import { beforeEach, describe, expect, test } from "vitest";
import { anyDatabase, openFresh } from "../../test/databases.ts";
import { openConsent, registerClient, type TestClient } from "../../test/oauth-client.ts";
import { openSigningHost, type SigningHost } from "../../test/signing-host.ts";
import { type SignInProvider, signInProviderOfTest } from "../../test/sign-in-provider.ts";

const alice = { kind: "human", userId: "alice" } as const;
const holds = [
  { resource: { namespace: "files", path: ["den", "{subject}"] }, actions: ["read", "write"], scope: "descendants" },
];
const mayRead = "read in files/den/alice and everything below";
const mayWrite = "write in files/den/alice and everything below";

let host: SigningHost;
let provider: SignInProvider;
let client: TestClient;
let now: Date;

beforeEach(async () => {
  now = new Date();
  provider = await signInProviderOfTest({ sub: "alice" });
  const signIn = { issuer: provider.issuer, clientId: "turnpike", people: { tenant: "acme", holds } };
  host = await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), signIn, { now: () => now });
  client = await registerClient(host.origin, host.send);
});

const later = (ms: number): void => {
  now = new Date(now.getTime() + ms);
};

/** Alice lets the client do something; returns the code that it gets. */
async function codeFor(...says: string[]): Promise<string> {
  const page = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress());
  return (await page.allow(...says)).searchParams.get("code") ?? "";
}

async function connect(...says: string[]) {
  const { status, body } = await client.exchange(await codeFor(...says));
  expect(status).toBe(200);
  return body;
}

async function authorize(token: string, action: string, path = ["den", "alice", "plan"]) {
  const body = JSON.stringify({ action, resource: { namespace: "files", path, owner: alice } });
  const headers = { host: "127.0.0.1:8787", authorization: `Bearer ${token}`, "content-type": "application/json" };
  const answer = await host.send(new Request(`${host.origin}/v1/authorize`, { method: "POST", headers, body }));
  const { reasonCode, error } = (await answer.json()) as { reasonCode?: string; error?: { code: string } };
  return reasonCode ?? error?.code ?? "";
}

const open = (path: string) => host.send(new Request(`${host.origin}${path}`, { headers: { host: "127.0.0.1:8787" } }));

test("a client that knows nothing but the address of MCP finds out how to get a token", async () => {
  const refused = await host.send(
    new Request(`${host.origin}/mcp`, { method: "POST", headers: { host: "127.0.0.1:8787" }, body: "{}" }),
  );
  const resourceAt = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "")?.[1] ?? "";
  const resource = await open(resourceAt.replace(host.origin, ""));
  expect(await resource.json()).toEqual({
    resource: `${host.origin}/mcp`,
    authorization_servers: [host.origin],
    bearer_methods_supported: ["header"],
    scopes_supported: ["offline_access"],
  });
  const server = await open("/.well-known/oauth-authorization-server");
  expect(await server.json()).toMatchObject({
    issuer: host.origin,
    authorization_endpoint: `${host.origin}/authorize`,
    token_endpoint: `${host.origin}/token`,
    registration_endpoint: `${host.origin}/register`,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  });
});

test("a client does what a person allowed it, and nothing else", async () => {
  const browser = host.newBrowser();
  const page = await openConsent(host.origin, browser, client.authorizeAddress());
  expect(page.choices.map(({ says, isTicked }) => [says, isTicked])).toEqual([
    [mayRead, false],
    [mayWrite, false],
  ]);
  const answered = await page.allow(mayRead);
  expect(`${answered.origin}${answered.pathname}`).toBe("http://127.0.0.1:7777/callback");
  expect(answered.searchParams.get("state")).toBe(client.state);
  expect(answered.searchParams.get("iss")).toBe(host.origin);
  const { status, body } = await client.exchange(answered.searchParams.get("code") ?? "");
  expect([status, body]).toEqual([
    200,
    {
      access_token: expect.stringMatching(/^tp_/),
      token_type: "Bearer",
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^tpr_/),
      scope: "offline_access",
    },
  ]);
  expect(await authorize(body.access_token, "read")).toBe("allowed");
  expect(await authorize(body.access_token, "write")).toBe("no_matching_grant");
  expect(await authorize(body.access_token, "read", ["den", "bob"])).toBe("no_matching_grant");
  expect([...browser.cookies.keys()].filter((name) => name.startsWith("turnpike-consent"))).toEqual([]);
});

test("what a client may do each time is asked each time", async () => {
  const page = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress());
  const { key = "" } = page.choices.find(({ says }) => says === mayRead) ?? {};
  const answer = await page.submit([
    ["token", page.token],
    ["allow", key],
    ["ask", key],
    ["answer", "allow"],
  ]);
  const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
  const { body } = await client.exchange(code);
  expect(await authorize(body.access_token, "read")).toBe("approval_required");
});

test("what a client names in its scope is ticked, also a part of what the person holds", async () => {
  const scope = "offline_access write:files/den/alice read:files/den/alice/a%20b read:files/den/bob";
  const page = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress({ scope }));
  expect(page.choices.filter(({ isTicked }) => isTicked).map(({ says }) => says)).toEqual([
    "read in files/den/alice/&quot;a b&quot; and everything below",
    mayWrite,
  ]);
});

test("a second consent adds to the connection that there is", async () => {
  const first = await connect(mayRead);
  later(1000);
  const second = await connect(mayWrite);
  for (const { access_token: token } of [first, second])
    expect([await authorize(token, "read"), await authorize(token, "write")]).toEqual(["allowed", "allowed"]);
  const events = await host.stores.audit.list("acme", { limit: 100 });
  const made = events.flatMap(({ event: { action = "", receiver, outcome } }) =>
    /^connection\.(created|changed)$/.test(action) && outcome === "succeeded" ? [{ action, receiver }] : [],
  );
  expect(made.map(({ action }) => action)).toEqual(["connection.changed", "connection.created"]);
  expect(made[0]?.receiver).toEqual(made[1]?.receiver);
});

describe("a person", () => {
  test("who cancels, or ticks nothing, allows nothing", async () => {
    for (const answer of ["cancel", "allow"]) {
      const page = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress());
      const ended = await page.submit([
        ["token", page.token],
        ["answer", answer],
      ]);
      const { searchParams } = new URL(ended.headers.get("location") ?? "");
      expect([searchParams.get("error"), searchParams.get("iss"), searchParams.get("code")]).toEqual([
        "access_denied",
        host.origin,
        null,
      ]);
      expect((await page.submit([["token", page.token]])).status).toBe(400);
    }
  });

  test("who has to choose anew when what they hold has changed", async () => {
    const page = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress());
    const [held] = await host.stores.grants.list("acme", { subject: alice, limit: 1 });
    await host.stores.grants.revoke("acme", held?.id ?? "", now.toISOString());
    const answer = await page.submit([
      ["token", page.token],
      ["allow", page.choices[0]?.key ?? ""],
      ["answer", "allow"],
    ]);
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining("has changed meanwhile")]);
  });

  test("answers in the browser that signed in, on the page that was shown, and once", async () => {
    const [browser, other] = [host.newBrowser(), host.newBrowser()];
    const page = await openConsent(host.origin, browser, client.authorizeAddress());
    const fields = [
      ["token", page.token],
      ["allow", page.choices[0]?.key ?? ""],
      ["answer", "allow"],
    ] as const;
    expect((await other.open(page.path)).status).toBe(400);
    expect((await page.submit(fields.slice(1))).status).toBe(400);
    expect((await page.submit(fields, { origin: "https://evil.example" })).status).toBe(403);
    expect((await page.submit(fields, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await page.submit(fields)).status).toBe(303);
    browser.cookies.set(`turnpike-consent-${page.path.slice(9)}`, "0".repeat(64));
    expect((await page.submit(fields)).status).toBe(400);
  });

  test("who is revoked while they answer connects nothing, and no client refreshes for them", async () => {
    const { refresh_token: token } = await connect(mayRead);
    const page = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress());
    const person = await host.stores.people.find("acme", alice);
    await host.stores.credentials.revoke(person?.credentialId ?? "", now.toISOString());
    const answer = await page.submit([
      ["token", page.token],
      ["allow", page.choices[0]?.key ?? ""],
      ["answer", "allow"],
    ]);
    expect(answer.status).toBe(400);
    expect(await client.refresh(token)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });
});

test("the page of consent is safe from frames, scripts and names that are markup", async () => {
  client = await registerClient(host.origin, host.send, { name: "<img src=x onerror=alert(1)>" });
  const { text, headers } = await openConsent(host.origin, host.newBrowser(), client.authorizeAddress());
  expect(text).toContain("&lt;img src=x onerror=alert(1)&gt; wants to act for you");
  expect(headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self' http:\/\/127\.0\.0\.1:7777; frame-ancestors 'none'$/,
  );
  expect(headers.get("referrer-policy")).toBe("same-origin");
});

describe("a request for authorization", () => {
  const answered = async (changes: Record<string, string | undefined>) => {
    const answer = await open(client.authorizeAddress(changes));
    const location = answer.headers.get("location") ?? "";
    if (location === "") return String(answer.status);
    if (location.startsWith("/sign-in?")) return "asks";
    const { origin, pathname, searchParams } = new URL(location);
    expect(searchParams.get("iss")).toBe(host.origin);
    return `${origin}${pathname} ${searchParams.get("error") ?? ""}`;
  };
  const at = "http://127.0.0.1:7777/callback";
  const rows: [name: string, changes: Record<string, string | undefined>, held: string][] = [
    ["of a known client", {}, "asks"],
    ["with another port of this machine", { redirect_uri: "http://127.0.0.1:9999/callback" }, "asks"],
    ["of a client that is not known", { client_id: "dyn-00000000000000000000000000000000" }, "400"],
    ["with an address of another site", { redirect_uri: "https://evil.example/callback" }, "400"],
    ["with another path of this machine", { redirect_uri: "http://127.0.0.1:7777/callback/../x" }, "400"],
    ["with another name of this machine", { redirect_uri: "http://localhost:7777/callback" }, "400"],
    ["with credentials in the address", { redirect_uri: "http://127.0.0.1:7777@evil.example/callback" }, "400"],
    ["without an address", { redirect_uri: undefined }, "400"],
    ["without a challenge", { code_challenge: undefined }, `${at} invalid_request`],
    ["with a plain challenge", { code_challenge_method: "plain" }, `${at} invalid_request`],
    ["without a resource", { resource: undefined }, `${at} invalid_target`],
    ["for another resource", { resource: "https://other.example/mcp" }, `${at} invalid_target`],
    ["for a token instead of a code", { response_type: "token" }, `${at} unsupported_response_type`],
    ["that no person may answer", { prompt: "none" }, `${at} login_required`],
    ["that no sign-in can carry along", { state: "x".repeat(3000) }, `${at} invalid_request`],
  ];
  test.each(rows)("%s", async (_name, changes, held) => {
    expect(await answered(changes)).toBe(held);
  });

  test("that says something twice is refused", async () => {
    const answer = await open(`${client.authorizeAddress()}&resource=https%3A%2F%2Fother.example`);
    expect(new URL(answer.headers.get("location") ?? "").searchParams.get("error")).toBe("invalid_request");
    expect((await open(`${client.authorizeAddress()}&redirect_uri=https%3A%2F%2Fevil.example`)).status).toBe(400);
  });
});

describe("a code", () => {
  const invalid = { status: 400, body: { error: "invalid_grant" } };

  test("counts with its verifier, its client, its address and its resource alone", async () => {
    const other = await registerClient(host.origin, host.send, { name: "Other" });
    const code = await codeFor(mayRead);
    for (const changes of [
      { code_verifier: other.verifier },
      { code_verifier: undefined },
      { client_id: other.id },
      { redirect_uri: "http://127.0.0.1:7778/callback" },
      { resource: `${host.origin}/other` },
      { code: code.replace(/.$/, (last) => (last === "0" ? "1" : "0")) },
    ])
      expect(await client.exchange(code, changes)).toMatchObject(invalid);
    expect((await client.exchange(code)).status).toBe(200);
  });

  test("lasts a minute", async () => {
    const code = await codeFor(mayRead);
    later(60_000);
    expect(await client.exchange(code)).toMatchObject(invalid);
  });

  test("that comes again ends its connection", async () => {
    const code = await codeFor(mayRead);
    const { body } = await client.exchange(code);
    expect(await authorize(body.access_token, "read")).toBe("allowed");
    expect(await client.exchange(code)).toMatchObject(invalid);
    expect(await authorize(body.access_token, "read")).toBe("unauthenticated");
    expect(await client.refresh(body.refresh_token)).toMatchObject(invalid);
    const events = await host.stores.audit.list("acme", { limit: 9 });
    expect(events[0]?.event).toMatchObject({ action: "connection.revoked", metadata: { reason: "reused" } });
  });
});

describe("a token", () => {
  test("lasts an hour, and the next one ends it at once", async () => {
    const first = await connect(mayRead);
    later(3_600_000 - 1);
    expect(await authorize(first.access_token, "read")).toBe("allowed");
    later(1);
    expect(await authorize(first.access_token, "read")).toBe("unauthenticated");
    const second = await client.refresh(first.refresh_token);
    expect(await authorize(second.body.access_token, "read")).toBe("allowed");
    const third = await client.refresh(second.body.refresh_token);
    expect(await authorize(second.body.access_token, "read")).toBe("unauthenticated");
    expect(await authorize(third.body.access_token, "read")).toBe("allowed");
  });

  test("that was refreshed before ends its connection, and one that was made up does not", async () => {
    const first = await connect(mayRead);
    const second = await client.refresh(first.refresh_token);
    const madeUp = second.body.refresh_token.replace(/_[0-9a-f]{64}/, `_${"0".repeat(64)}`);
    expect((await client.refresh(madeUp)).status).toBe(400);
    const other = await registerClient(host.origin, host.send, { name: "Other" });
    expect((await other.refresh(second.body.refresh_token)).status).toBe(400);
    expect((await client.refresh(second.body.refresh_token, { resource: "https://other.example" })).status).toBe(400);
    expect(await authorize(second.body.access_token, "read")).toBe("allowed");
    expect((await client.refresh(first.refresh_token)).status).toBe(400);
    expect(await authorize(second.body.access_token, "read")).toBe("unauthenticated");
    expect((await client.refresh(second.body.refresh_token)).status).toBe(400);
  });

  test("that was not refreshed for 30 days needs the person again", async () => {
    const { refresh_token: token } = await connect(mayRead);
    later(30 * 86_400_000);
    expect((await client.refresh(token)).status).toBe(400);
  });

  test("that its client revokes is over, and the connection with the last one", async () => {
    const [first, second] = [await connect(mayRead), await connect(mayRead)];
    const revoke = async (token: string) => {
      const headers = { host: "127.0.0.1:8787", "content-type": "application/x-www-form-urlencoded" };
      const body = new URLSearchParams({ token, client_id: client.id }).toString();
      return (await host.send(new Request(`${host.origin}/revoke`, { method: "POST", headers, body }))).status;
    };
    expect(await revoke("tp_unknown")).toBe(200);
    expect(await revoke(first.access_token)).toBe(200);
    expect(await authorize(first.access_token, "read")).toBe("unauthenticated");
    expect(await authorize(second.access_token, "read")).toBe("allowed");
    expect(await revoke(second.refresh_token)).toBe(200);
    expect(await authorize(second.access_token, "read")).toBe("unauthenticated");
    const held = await host.stores.grants.list("acme", { issuer: alice, limit: 9 });
    expect(held.map(({ revokedAt }) => revokedAt !== undefined)).toEqual(held.map(() => true));
  });
});

describe("what a client does ends at once", () => {
  const half = async () => {
    const browser = host.newBrowser();
    const { address } = await browser.follow("/sign-in?to=/me");
    const code = new URLSearchParams(new URL(address).hash.slice(1)).get("code");
    const { pageSecret } = (await (await browser.send("/me/v1/session", { code })).json()) as { pageSecret: string };
    return { browser, headers: { "x-turnpike-me": pageSecret } };
  };

  test("when its person disconnects it on their own page", async () => {
    const { access_token: token, refresh_token: refreshToken } = await connect(mayRead);
    expect(await authorize(token, "read")).toBe("allowed");
    const { browser, headers } = await half();
    const list = async () =>
      (await (await browser.send("/me/v1/connections", undefined, headers)).json()) as {
        connections: { subject: object; client?: object; grants: object[] }[];
      };
    const [acting, ...others] = (await list()).connections;
    expect([acting?.client, acting?.grants.length, others]).toEqual([
      { name: "Editor", redirect: "http://127.0.0.1/callback", since: expect.any(String) },
      1,
      [],
    ]);
    const revoked = await browser.send("/me/v1/connections/revoke", { subject: acting?.subject }, headers);
    expect(await revoked.json()).toEqual({ revoked: 1 });
    expect(await authorize(token, "read")).toBe("unauthenticated");
    expect((await client.refresh(refreshToken)).status).toBe(400);
    expect((await list()).connections).toEqual([]);
    expect((await browser.send("/me/v1/connections/revoke", { subject: acting?.subject }, headers)).status).toBe(404);
  });

  test("and is no other person's to end", async () => {
    const { access_token: token } = await connect(mayRead);
    const [connection] = await host.stores.connections.listOf("acme", alice);
    provider.user = { sub: "bob" };
    const { browser, headers } = await half();
    const subject = { kind: "agent", agentId: connection?.id };
    expect((await browser.send("/me/v1/connections/revoke", { subject }, headers)).status).toBe(404);
    expect(await authorize(token, "read")).toBe("allowed");
  });

  test("when an operator revokes the person", async () => {
    const { access_token: token } = await connect(mayRead);
    const oscar = { kind: "human", userId: "oscar" } as const;
    const access = { actor: oscar, owner: oscar, purposes: ["operate"], admin: true };
    const operator = await host.stores.credentials.create({ namespaceId: "operators", access });
    const authorization = `Bearer ${operator.token}`;
    const person = { namespaceId: "acme", principal: alice };
    const answer = await host.newBrowser().send("/admin/v1/people/revoke", person, { authorization });
    expect(await answer.json()).toMatchObject({ connections: 1 });
    expect(await authorize(token, "read")).toBe("unauthenticated");
    const held = await host.stores.grants.list("acme", { issuer: alice, limit: 9 });
    expect(held.map(({ revokedAt }) => revokedAt !== undefined)).toEqual([true]);
  });
});

describe("a client that registers", () => {
  const register = async (document: unknown) => {
    const headers = { host: "127.0.0.1:8787" };
    const body = JSON.stringify(document);
    const answer = await host.send(new Request(`${host.origin}/register`, { method: "POST", headers, body }));
    const said = (await answer.json()) as { client_id?: string; error?: string };
    return { status: answer.status, wait: answer.headers.get("retry-after"), ...said };
  };

  test("is the same client when it says the same again, with whatever port is free", async () => {
    const one = await register({ client_name: "App", redirect_uris: ["http://localhost:1234/cb"] });
    const again = await register({ client_name: "App", redirect_uris: ["http://localhost:4321/cb"] });
    const renamed = await register({ client_name: "Bank", redirect_uris: ["http://localhost:1234/cb"] });
    expect([again.client_id === one.client_id, renamed.client_id === one.client_id]).toEqual([true, false]);
  });

  test("gets no secret, and is answered at safe addresses alone", async () => {
    const rows: [string, number][] = [
      ["https://app.example/cb", 201],
      ["cursor://anysphere.cursor-mcp/oauth/callback", 201],
      ["http://app.example/cb", 400],
      ["javascript:alert(1)", 400],
      ["https://user:pass@app.example/cb", 400],
      ["https://app.example/cb#part", 400],
    ];
    for (const [uri, status] of rows)
      expect([uri, (await register({ redirect_uris: [uri] })).status]).toEqual([uri, status]);
    const asked = { redirect_uris: ["https://app.example/cb"], token_endpoint_auth_method: "client_secret_basic" };
    const registered = await register(asked);
    expect(registered).toMatchObject({ token_endpoint_auth_method: "none" });
    expect(Object.keys(registered)).not.toContain("client_secret");
    expect(Object.keys(registered)).not.toContain("registration_access_token");
  });

  test("too often from one address has to wait", async () => {
    const answers = [];
    for (let times = 0; times < 21; times += 1)
      answers.push(await register({ redirect_uris: ["https://app.example/cb"] }));
    expect(answers.map(({ status }) => status).filter((status) => status !== 201)).toEqual([429, 429]);
    expect(Number(answers.at(-1)?.wait)).toBeGreaterThan(0);
  });
});

describe("where no one is let in as a person", () => {
  test("nothing of it is there, and no client is asked for a token", async () => {
    const signIn = {
      issuer: provider.issuer,
      clientId: "turnpike",
      operators: [{ claim: "a", value: "b", role: "admin" }],
    };
    host = await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), signIn);
    for (const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-protected-resource/mcp",
      "/authorize",
    ])
      expect([path, (await open(path)).status]).toEqual([path, 404]);
  });
});
