import { describe, expect, test } from "vitest";
import { anyDatabase, openFresh } from "../../../test/databases.ts";
import { openSigningHost, type SigningHost } from "../../../test/signing-host.ts";
import { signInProviderOfTest, type Misbehavior, type SignInProvider } from "../../../test/sign-in-provider.ts";
import type { TestBrowser } from "../../../test/test-browser.ts";

const carol = { sub: "carol", name: "Carol", groups: ["staff", "turnpike-admins"] };
const operators = [
  { claim: "groups", value: "turnpike-admins", role: "admin" },
  { claim: "groups", value: "staff", role: "auditor", tenant: "acme" },
];
const people = { tenant: "acme", holds: [] };

/** A host whose users Carol's provider signs in. */
async function open(
  settings: object = { operators, people },
): Promise<{ host: SigningHost; provider: SignInProvider }> {
  const provider = await signInProviderOfTest(carol);
  const [kind = "sqlite"] = anyDatabase;
  const signIn = { issuer: provider.issuer, clientId: "turnpike", name: "Acme", ...settings };
  return { host: await openSigningHost(await openFresh(kind), signIn), provider };
}

/** The code in the address that a sign-in ends at; empty when it ends elsewhere. */
function codeIn(address: string): string {
  return new URLSearchParams(new URL(address).hash.slice(1)).get("code") ?? "";
}

/** Signs in to the console, and says what the console's page then learns. */
async function enterConsole(
  browser: TestBrowser,
): Promise<{ status: number; page: string; body: { operator?: object } }> {
  const { address } = await browser.follow("/sign-in?to=/console");
  const begun = await browser.send("/admin/v1/sessions", { code: codeIn(address) });
  const body = (await begun.json()) as { pageSecret: string; operator?: object };
  return { status: begun.status, page: body.pageSecret, body };
}

test("an operator signs in with their provider, as what the first fitting claim says", async () => {
  const { host } = await open();
  const browser = host.newBrowser();
  const { status, page, body } = await enterConsole(browser);
  expect([status, body.operator]).toEqual([
    201,
    { id: expect.any(String), actor: { kind: "human", userId: "carol" }, role: "admin" },
  ]);
  const session = await browser.send("/admin/v1/session", undefined, { "x-turnpike-console": page });
  expect(session.status).toBe(200);
});

test("a role is read again at each sign-in, and sessions from before have it as well", async () => {
  const { host, provider } = await open();
  const browser = host.newBrowser();
  const { page } = await enterConsole(browser);
  provider.user = { ...carol, groups: ["staff"] };
  const { body } = await enterConsole(host.newBrowser());
  expect(body.operator).toMatchObject({ role: "auditor", tenant: "acme" });
  const session = await browser.send("/admin/v1/session", undefined, { "x-turnpike-console": page });
  expect(await session.json()).toMatchObject({ operator: { role: "auditor", tenant: "acme" } });
});

test("who is no operator any more is not let in, and their sessions end", async () => {
  const { host, provider } = await open();
  const browser = host.newBrowser();
  const { page } = await enterConsole(browser);
  provider.user = { ...carol, groups: [] };
  const { response } = await host.newBrowser().follow("/sign-in?to=/console");
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("You are no operator here.")]);
  const session = await browser.send("/admin/v1/session", undefined, { "x-turnpike-console": page });
  expect(session.status).toBe(401);
});

describe("the answer of a provider signs no one in", () => {
  const rows: { name: string; misbehavior: Misbehavior; status?: number }[] = [
    { name: "with an ID token that another key signed", misbehavior: { isForeignKey: true } },
    { name: "with an ID token for another client", misbehavior: { claims: { aud: "another" } } },
    {
      name: "with an ID token for several clients, of which another one asked",
      misbehavior: { claims: { aud: ["turnpike", "another"], azp: "another" } },
    },
    { name: "with the nonce of another sign-in", misbehavior: { claims: { nonce: "0".repeat(64) } } },
    { name: "without a nonce", misbehavior: { claims: { nonce: undefined } } },
    { name: "with an ID token of another issuer", misbehavior: { claims: { iss: "https://id.example" } } },
    { name: "with an ID token that has expired", misbehavior: { claims: { exp: 1_700_000_000 } } },
    { name: "without a subject", misbehavior: { claims: { sub: undefined } } },
    { name: "that says it comes from another provider", misbehavior: { answer: { iss: "https://id.example" } } },
    { name: "with the state of another sign-in", misbehavior: { answer: { state: "0".repeat(64) } } },
    { name: "with a code that the provider did not give", misbehavior: { answer: { code: "made-up" } } },
  ];
  for (const { name, misbehavior, status = 400 } of rows)
    test(name, async () => {
      const { host, provider } = await open();
      provider.misbehavior = misbehavior;
      const browser = host.newBrowser();
      const { address, response } = await browser.follow("/sign-in?to=/console");
      expect([response.status, codeIn(address)]).toEqual([status, ""]);
      // The control: the same browser, once the provider behaves.
      provider.misbehavior = {};
      expect((await enterConsole(browser)).status).toBe(201);
    });
});

test("an answer counts once, also when the first time came to nothing", async () => {
  const { host, provider } = await open();
  const browser = host.newBrowser();
  const begun = await browser.open("/sign-in?to=/console");
  const answer = await browser.open(begun.headers.get("location") ?? "");
  const callback = answer.headers.get("location") ?? "";
  const at = (address: string) => browser.open(address.replace(host.origin, ""));
  provider.misbehavior = { claims: { aud: "another" } };
  expect((await at(callback)).status).toBe(400);
  provider.misbehavior = {};
  const again = await at(callback);
  expect([again.status, await again.text()]).toEqual([400, expect.stringContaining("This sign-in is over")]);
});

test("an answer is no use in another browser, nor is the code that it becomes", async () => {
  const { host } = await open();
  const [mallory, alice] = [host.newBrowser(), host.newBrowser()];
  const begun = await mallory.open("/sign-in?to=/console");
  const answer = await mallory.open(begun.headers.get("location") ?? "");
  const callback = (answer.headers.get("location") ?? "").replace(host.origin, "");
  expect((await alice.open(callback)).status).toBe(400);
  // Also not in one that is about to sign in itself.
  await alice.open("/sign-in?to=/console");
  expect((await alice.open(callback)).status).toBe(400);
  const code = codeIn((await mallory.open(callback)).headers.get("location") ?? "");
  expect((await alice.send("/admin/v1/sessions", { code })).status).toBe(401);
  expect((await mallory.send("/admin/v1/sessions", { code })).status).toBe(201);
  expect((await mallory.send("/admin/v1/sessions", { code })).status).toBe(401);
});

for (const to of ["//evil.example/console", "/console/%2e%2e/admin/v1/session", "/console\r\nset-cookie: a=b"])
  test(`a sign-in that would lead to ${JSON.stringify(to)} is not begun`, async () => {
    const { host } = await open();
    const browser = host.newBrowser();
    const response = await browser.open(`/sign-in?${new URLSearchParams({ to }).toString()}`);
    expect([response.status, response.headers.get("location"), browser.cookies.size]).toEqual([400, null, 0]);
  });

test("a sign-in leads to the page of the console that it was begun for", async () => {
  const { host } = await open();
  const { address } = await host.newBrowser().follow("/sign-in?to=/console/acme/turns?filter=1");
  expect(address.startsWith(`${host.origin}/console/acme/turns?filter=1#code=`)).toBe(true);
});

test("the cookie of a sign-in cannot be changed by the browser to lead elsewhere or to another provider", async () => {
  const { host } = await open();
  const browser = host.newBrowser();
  const begun = await browser.open("/sign-in?to=/me");
  const answer = await browser.open(begun.headers.get("location") ?? "");
  const [name = "", value = ""] = [...browser.cookies][0] ?? [];
  const [secret, expires, provider] = value.split(".");
  for (const to of ["/console", "//evil.example", "/me/x"]) {
    browser.cookies.set(name, [secret, expires, provider, Buffer.from(to).toString("base64url")].join("."));
    const ended = await browser.open((answer.headers.get("location") ?? "").replace(host.origin, ""));
    expect([ended.status, ended.headers.get("location")]).toEqual([400, null]);
  }
});

test("a sign-in takes ten minutes at most", async () => {
  const provider = await signInProviderOfTest(carol);
  let now = new Date();
  const signIn = { issuer: provider.issuer, clientId: "turnpike", operators };
  const host = await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), signIn, { now: () => now });
  const browser = host.newBrowser();
  const begun = await browser.open("/sign-in?to=/console");
  const answer = await browser.open(begun.headers.get("location") ?? "");
  now = new Date(now.getTime() + 600_000);
  expect((await browser.open((answer.headers.get("location") ?? "").replace(host.origin, ""))).status).toBe(400);
});

test("a session ends with the provider's where that is the earlier one, for operators and for people", async () => {
  const { host, provider } = await open();
  const endsAt = Math.floor(Date.now() / 1000) + 3600;
  provider.user = { ...carol, session_expiry: endsAt };
  const ends = new Date(endsAt * 1000).toISOString();
  const { body } = await enterConsole(host.newBrowser());
  expect(body).toMatchObject({ expiresAt: ends });
  const browser = host.newBrowser();
  const { address } = await browser.follow("/sign-in?to=/me");
  const person = await browser.send("/me/v1/session", { code: codeIn(address) });
  expect(await person.json()).toMatchObject({ expiresAt: ends });
  provider.user = { ...carol, session_expiry: 1_700_000_000 };
  expect((await browser.follow("/sign-in?to=/me")).response.status).toBe(400);
});

test("a host starts without its provider, and says so when a user wants to sign in", async () => {
  const { host, provider } = await open();
  provider.misbehavior = { status: 503 };
  const browser = host.newBrowser();
  const { response } = await browser.follow("/sign-in?to=/console");
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining("Acme does not answer")]);
  expect(host.said.at(-1)).toMatchObject({ message: "request" });
  provider.misbehavior = {};
  expect((await enterConsole(browser)).status).toBe(201);
});

test("its metadata is read once", async () => {
  const { host, provider } = await open();
  for (let times = 0; times < 3; times += 1) await host.newBrowser().follow("/sign-in?to=/console");
  expect(provider.requests.filter((path) => path.startsWith("/.well-known"))).toHaveLength(1);
});

test("where operators alone sign in, no token and no code of one begins a session", async () => {
  const { host } = await open({ operators, operatorsOnly: true });
  const access = {
    actor: { kind: "human", userId: "bob" },
    owner: { kind: "human", userId: "bob" },
    purposes: ["operate"],
    admin: true,
  } as const;
  const { token } = await host.stores.credentials.create({
    namespaceId: "operators",
    access: { ...access, purposes: ["operate"] },
  });
  const browser = host.newBrowser();
  const refused = await browser.send("/admin/v1/sessions", { token });
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "permission_denied" } }]);
  const made = await browser.send("/admin/v1/codes", {}, { authorization: `Bearer ${token}` });
  const { code } = (await made.json()) as { code: string };
  expect((await browser.send("/admin/v1/sessions", { code })).status).toBe(403);
  expect((await enterConsole(browser)).status).toBe(201);
  // The token itself still works: it is how a host is run when the provider is away.
  expect((await browser.send("/admin/v1/session", undefined, { authorization: `Bearer ${token}` })).status).toBe(200);
});

test("a page has a button for each of several providers, and nothing but them", async () => {
  const [one, other] = [await signInProviderOfTest(carol), await signInProviderOfTest(carol)];
  const of = (issuer: string, name: string, settings: object) => ({ issuer, clientId: "turnpike", name, ...settings });
  const host = await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), [
    of(one.issuer, "One <b>", { operators, people }),
    of(other.issuer, "Other", { people: { tenant: "beta" } }),
  ]);
  const page = await host.newBrowser().open("/sign-in?to=/me");
  const text = await page.text();
  expect(page.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  expect([...text.matchAll(/class="button" href="([^"]+)">([^<]+)</g)].map(([, href, says]) => [href, says])).toEqual([
    ["/sign-in?to=%2Fme&amp;provider=One+%3Cb%3E", "Continue with One &lt;b&gt;"],
    ["/sign-in?to=%2Fme&amp;provider=Other", "Continue with Other"],
  ]);
  // One of them signs operators in, so nothing is to choose.
  const { address } = await host.newBrowser().follow("/sign-in?to=/console");
  expect(codeIn(address)).not.toBe("");
  expect(other.requests).toEqual([]);
});

test("an answer to a sign-in with one provider does not count as one of another", async () => {
  const [honest, evil] = [await signInProviderOfTest(carol), await signInProviderOfTest(carol)];
  const of = (issuer: string, name: string, settings: object) => ({ issuer, clientId: "turnpike", name, ...settings });
  const host = await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), [
    of(honest.issuer, "Honest", { operators }),
    of(evil.issuer, "Evil", { people: { tenant: "beta" } }),
  ]);
  const browser = host.newBrowser();
  // The browser means to sign in with the evil one, which sends it on to the honest one with its own state and challenge.
  const begun = await browser.open("/sign-in?to=/me&provider=Evil");
  const asked = new URL(begun.headers.get("location") ?? "");
  const mixed = new URL(`${honest.issuer}/authorize`);
  mixed.search = asked.search;
  const answer = await fetch(mixed, { redirect: "manual" });
  const ended = await browser.open((answer.headers.get("location") ?? "").replace(host.origin, ""));
  expect([ended.status, ended.headers.get("location")]).toEqual([400, null]);
  expect(evil.requests.filter((path) => path === "/token")).toEqual([]);
});

test("a host that has no public URL is sent back to under no other name than this machine's", async () => {
  const { host } = await open();
  const response = await host.send(new Request(`${host.origin}/sign-in?to=/me`, { headers: { host: "evil.example" } }));
  expect([response.status, response.headers.get("location")]).toEqual([400, null]);
});

describe("the provider's logout", () => {
  const post = (host: SigningHost, token: string) =>
    host.send(
      new Request(`${host.origin}/sign-in/logout`, {
        method: "POST",
        headers: { host: "127.0.0.1:8787", "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ logout_token: token }).toString(),
      }),
    );
  const isIn = async (browser: TestBrowser, page: string) =>
    (await browser.send("/admin/v1/session", undefined, { "x-turnpike-console": page })).status === 200;

  test("ends one session by its id, and all of a user's by their subject, and each token counts once", async () => {
    const { host, provider } = await open();
    const [one, other] = [host.newBrowser(), host.newBrowser()];
    provider.user = { ...carol, sid: "session-1" };
    const first = await enterConsole(one);
    provider.user = { ...carol, sid: "session-2" };
    const second = await enterConsole(other);
    const token = await provider.signLogout({ sub: "carol", sid: "session-1" });
    expect((await post(host, token)).status).toBe(200);
    expect([await isIn(one, first.page), await isIn(other, second.page)]).toEqual([false, true]);
    expect((await post(host, token)).status).toBe(400);
    expect((await post(host, await provider.signLogout({ sub: "carol" }))).status).toBe(200);
    expect(await isIn(other, second.page)).toBe(false);
    const events = await host.stores.audit.list("operators", { limit: 50 });
    const ends = events.filter(({ event }) => event.action === "session.end");
    expect(ends.map(({ event }) => event.metadata?.["by"])).toEqual(["provider", "provider"]);
  });

  const rows: { name: string; claims: Record<string, unknown> }[] = [
    { name: "of another client", claims: { sub: "carol", aud: "another" } },
    { name: "of another issuer", claims: { sub: "carol", iss: "https://id.example" } },
    { name: "that is an ID token", claims: { sub: "carol", nonce: "n" } },
    { name: "that is about no logout", claims: { sub: "carol", events: {} } },
    { name: "about no one", claims: {} },
    { name: "from long ago", claims: { sub: "carol", iat: 1_700_000_000 } },
    { name: "without an id", claims: { sub: "carol", jti: undefined } },
  ];
  for (const { name, claims } of rows)
    test(`counts for nothing with a token ${name}`, async () => {
      const { host, provider } = await open();
      const browser = host.newBrowser();
      const { page } = await enterConsole(browser);
      expect((await post(host, await provider.signLogout(claims))).status).toBe(400);
      expect(await isIn(browser, page)).toBe(true);
    });
});

test("signing out ends the session, and a page of another origin ends none", async () => {
  const { host } = await open();
  const browser = host.newBrowser();
  const { page } = await enterConsole(browser);
  const half = { "x-turnpike-console": page };
  expect((await browser.send("/sign-out", {}, { ...half, origin: "https://evil.example" })).status).toBe(403);
  expect((await browser.send("/sign-out", {}, {})).status).toBe(401);
  expect((await browser.send("/admin/v1/session", undefined, half)).status).toBe(200);
  expect((await browser.send("/sign-out", {}, half)).status).toBe(200);
  expect((await browser.send("/admin/v1/session", undefined, half)).status).toBe(401);
});
