import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openFresh, temporaryFolder } from "../../packages/host/test/databases.ts";
import { openSigningHost } from "../../packages/host/test/signing-host.ts";
import { foreignBrowser, makeKeys, openForeignProvider } from "./foreign-provider.js";

const hostOrigin = "http://127.0.0.1:8787";
const users = {
  carol: { name: "Carol", groups: ["staff", "turnpike-admins"], org: "acme" },
  dave: { name: "Dave", groups: ["staff"], org: "operators" },
};
const operators = [{ claim: "groups", value: "turnpike-admins", role: "admin" }];
const people = { tenant: { claim: "org" } };
const secret = "a secret of the client: 100%";
const jwks = makeKeys("key-1");

const client = {
  client_id: "turnpike",
  redirect_uris: [`${hostOrigin}/sign-in/callback`],
  token_endpoint_auth_method: "none",
  backchannel_logout_uri: `${hostOrigin}/sign-in/logout`,
  backchannel_logout_session_required: true,
};
const confidential = { ...client, token_endpoint_auth_method: "client_secret_basic", client_secret: secret };
/** Another program that the same provider signs users in to. */
const other = { client_id: "other", redirect_uris: ["http://127.0.0.1:9/back"], token_endpoint_auth_method: "none" };

/** A host and the foreign provider of its users. */
async function open({ settings = {}, clients = [client, other], isSecret = false, ...more } = {}) {
  let host;
  /** What the provider sends to this host, which has no socket here. */
  const fetch = (address, { headers, body }) =>
    host.send(
      new Request(address, {
        method: "POST",
        headers: { ...Object.fromEntries(headers), host: "127.0.0.1:8787" },
        body,
      }),
    );
  const provider = await openForeignProvider({ clients, users, jwks, fetch, ...more });
  const file = join(temporaryFolder(), "secret");
  writeFileSync(file, `${secret}\n`);
  const signIn = {
    issuer: provider.issuer,
    clientId: "turnpike",
    name: "Foreign",
    scopes: ["openid", "profile", "groups"],
    operators,
    people,
    ...(isSecret && { clientSecretFile: file }),
  };
  host = await openSigningHost(await openFresh("sqlite"), settings.list?.(signIn, provider) ?? signIn);
  return { host, provider };
}

/** Signs a user in as far as the host's answer to what the provider said. */
async function enter({ host }, sub, { to = "/me", atProvider = foreignBrowser(), browser = host.newBrowser() } = {}) {
  const begun = await browser.open(`/sign-in?to=${to}`);
  const callback = await atProvider.signIn(begun.headers.get("location"), sub);
  const ended = await browser.open(callback);
  const code = /#code=(.+)$/.exec(ended.headers.get("location") ?? "")?.[1];
  return { browser, atProvider, callback, status: ended.status, text: await ended.text(), code };
}

/** The same, with a session in the end; what it returns says whether the session is open. */
async function openSession(world, sub, options) {
  const { browser, atProvider, code } = await enter(world, sub, options);
  const begun = await (await browser.send("/me/v1/session", { code })).json();
  const half = { "x-turnpike-me": begun.pageSecret };
  const isOpen = async () => (await browser.send("/me/v1/session", undefined, half)).status === 200;
  expect(await isOpen()).toBe(true);
  return { atProvider, begun, isOpen };
}

for (const { name, clients, isSecret } of [
  { name: "a public client", clients: [client], isSecret: false },
  { name: "a confidential client", clients: [confidential], isSecret: true },
])
  describe(`with ${name} of a foreign provider`, () => {
    test("an operator and a person sign in, as what the claims of the ID token say", async () => {
      const world = await open({ clients, isSecret });
      const operator = await enter(world, "carol", { to: "/console" });
      const begun = await operator.browser.send("/admin/v1/sessions", { code: operator.code });
      expect([begun.status, await begun.json()]).toMatchObject([
        201,
        { operator: { actor: { kind: "human", userId: "carol" }, role: "admin" } },
      ]);
      const { begun: person } = await openSession(world, "carol");
      expect(person).toMatchObject({ principal: { kind: "human", userId: "carol" }, tenant: "acme" });
      // The controls: no group and a tenant that no person is in.
      expect(await enter(world, "dave", { to: "/console" })).toMatchObject({ status: 403, code: undefined });
      expect(await enter(world, "dave")).toMatchObject({ status: 403, code: undefined });
    });
  });

test("a provider that knows another secret signs no one in, and says so to the operator", async () => {
  const world = await open({ clients: [{ ...confidential, client_secret: "another" }], isSecret: true });
  expect(await enter(world, "carol")).toMatchObject({
    status: 503,
    text: expect.stringContaining("Foreign does not know this host"),
  });
  expect(JSON.stringify(world.host.said)).not.toContain(secret);
});

test("claims that a provider says at its userinfo address alone let no operator in", async () => {
  const world = await open({ conformIdTokenClaims: true });
  expect(await enter(world, "carol", { to: "/console" })).toMatchObject({ status: 403, code: undefined });
});

describe("who signs out at the provider", () => {
  test("is signed out here, in that browser and in no other", async () => {
    const world = await open();
    const [one, two] = [await openSession(world, "carol"), await openSession(world, "carol")];
    await one.atProvider.signOut(world.provider.issuer);
    expect([await one.isOpen(), await two.isOpen()]).toEqual([false, true]);
  });

  test("is signed out in all browsers when the provider names no session", async () => {
    const world = await open({ clients: [{ ...client, backchannel_logout_session_required: false }] });
    const [one, two] = [await openSession(world, "carol"), await openSession(world, "carol")];
    await one.atProvider.signOut(world.provider.issuer);
    expect([await one.isOpen(), await two.isOpen()]).toEqual([false, false]);
  });
});

/** Has the provider answer the next exchange of a code with an ID token that it gave for something else. */
function answerWith({ answers }, token) {
  answers.set("/token", (_request, response) => {
    answers.delete("/token");
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ access_token: "any", token_type: "Bearer", id_token: token }));
  });
}

/** Records the ID tokens that a provider gives. */
function recordTokens({ answers }) {
  const given = [];
  answers.set("/token", (request, response, answer) => {
    const end = response.end.bind(response);
    response.end = (body, ...rest) => {
      given.push(JSON.parse(String(body)).id_token);
      return end(body, ...rest);
    };
    answer(request, response);
  });
  return given;
}

describe("no one signs in with an ID token of this provider", () => {
  const refused = { status: 400, code: undefined, text: expect.stringContaining("gave an answer that does not count") };

  test("that is for another client", async () => {
    const world = await open();
    const { issuer } = world.provider;
    const atProvider = foreignBrowser();
    const verifier = "v".repeat(64);
    const challenge = Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(verifier))).toString("base64url");
    const asked = new URLSearchParams({
      client_id: "other",
      redirect_uri: other.redirect_uris[0],
      response_type: "code",
      scope: "openid groups",
      code_challenge: challenge,
      code_challenge_method: "S256",
    });
    const back = await atProvider.signIn(`${issuer}/auth?${asked}`, "carol");
    const exchanged = await atProvider.ask(`${issuer}/token`, {
      grant_type: "authorization_code",
      client_id: "other",
      redirect_uri: other.redirect_uris[0],
      code: new URL(back).searchParams.get("code"),
      code_verifier: verifier,
    });
    const { id_token: token } = await exchanged.json();
    expect(token).toEqual(expect.any(String));
    answerWith(world.provider, token);
    expect(await enter(world, "carol")).toMatchObject(refused);
    expect(await enter(world, "carol")).toMatchObject({ status: 303 });
  });

  test("that is of another sign-in here", async () => {
    const world = await open();
    const given = recordTokens(world.provider);
    expect(await enter(world, "carol")).toMatchObject({ status: 303 });
    answerWith(world.provider, given[0]);
    expect(await enter(world, "carol")).toMatchObject(refused);
  });

  test("that another key signed, although its id is known", async () => {
    const world = await open();
    const { keys } = makeKeys("key-1");
    const shown = keys.map(({ kty, n, e, kid, alg, use }) => ({ kty, n, e, kid, alg, use }));
    world.provider.answers.set("/jwks", (_request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys: shown })),
    );
    expect(await enter(world, "carol")).toMatchObject(refused);
  });
});

test("a provider that sends browsers on to another one learns no code of it, and no one is signed in", async () => {
  const honest = await openForeignProvider({ clients: [client], users, jwks });
  const world = await open({
    settings: {
      list: (signIn) => [
        { ...signIn, name: "Evil", people: undefined },
        { ...signIn, issuer: honest.issuer, name: "Honest", operators: undefined },
      ],
    },
  });
  // What the host reads of the evil one has browsers sign in at the honest one.
  world.provider.answers.set("/.well-known/openid-configuration", (request, response, answer) => {
    const end = response.end.bind(response);
    response.end = (body) => {
      const changed = JSON.stringify({ ...JSON.parse(String(body)), authorization_endpoint: `${honest.issuer}/auth` });
      response.setHeader("content-length", Buffer.byteLength(changed));
      return end(changed);
    };
    answer(request, response);
  });
  const exchanged = [];
  world.provider.answers.set("/token", (request, response, answer) => {
    exchanged.push(request.url);
    answer(request, response);
  });
  const mixed = await enter(world, "carol", { to: "/console" });
  expect(new URL(mixed.callback).searchParams.get("iss")).toBe(honest.issuer);
  expect([mixed.status, mixed.code, exchanged]).toEqual([400, undefined, []]);
  expect(await enter(world, "carol")).toMatchObject({ status: 303 });
});

describe("a provider", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("that is away signs no one in until it is there again", async () => {
    const world = await open();
    world.provider.answers.set("/token", (request) => request.socket.destroy());
    expect(await enter(world, "carol")).toMatchObject({ status: 503, code: undefined });
    world.provider.answers.clear();
    expect(await enter(world, "carol")).toMatchObject({ status: 303 });
  });

  test("that changes its keys signs users in a minute later, and those of before count no more", async () => {
    const world = await open();
    const given = recordTokens(world.provider);
    expect(await enter(world, "carol")).toMatchObject({ status: 303 });
    world.provider.useKeys(makeKeys("key-2"));
    // Timers run on: only the clock is another one.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect(await enter(world, "carol")).toMatchObject({ status: 303 });
    expect(given.map((token) => JSON.parse(Buffer.from(token.split(".")[0], "base64url")).kid)).toEqual([
      "key-1",
      "key-2",
    ]);
    answerWith(world.provider, given[0]);
    expect(await enter(world, "carol")).toMatchObject({ status: 400 });
  });
});
