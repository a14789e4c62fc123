import { describe, expect, test } from "vitest";
import { anyDatabase, openFresh } from "../../../test/databases.ts";
import { openSigningHost, type SigningHost } from "../../../test/signing-host.ts";
import { signInProviderOfTest, type SignInProvider } from "../../../test/sign-in-provider.ts";
import type { TestBrowser } from "../../../test/test-browser.ts";

const alice = { kind: "human", userId: "alice" } as const;
const operators = [{ claim: "groups", value: "desk", role: "reviewer" }];

async function open(
  people: object = { tenant: { claim: "org" } },
  settings: Record<string, unknown> = {},
): Promise<{ host: SigningHost; provider: SignInProvider }> {
  const provider = await signInProviderOfTest({ sub: "alice", org: "acme" });
  const signIn = { issuer: provider.issuer, clientId: "turnpike", name: "Acme", people, operators };
  return { host: await openSigningHost(await openFresh(anyDatabase[0] ?? "sqlite"), signIn, { settings }), provider };
}

const locationOf = (response: Response): string => response.headers.get("location") ?? "";
const codeIn = (address: string): string => address.split("#code=")[1] ?? "";

/** Signs in as far as the address that the provider sends the browser back to. */
async function answered(host: SigningHost, browser: TestBrowser, to = "/me"): Promise<string> {
  const begun = await browser.open(`/sign-in?to=${to}`);
  return locationOf(await browser.open(locationOf(begun))).replace(host.origin, "");
}

/** Signs in to one's own page; what it returns says whether the session is open. */
async function enter(host: SigningHost): Promise<() => Promise<boolean>> {
  const browser = host.newBrowser();
  const { address } = await browser.follow("/sign-in?to=/me");
  const begun = await browser.send("/me/v1/session", { code: codeIn(address) });
  const { pageSecret } = (await begun.json()) as { pageSecret: string };
  return async () => (await browser.send("/me/v1/session", undefined, { "x-turnpike-me": pageSecret })).status === 200;
}

describe("the cookies of a sign-in", () => {
  test("come with every protection that browsers have, also on their way back from another site", async () => {
    const { host } = await open();
    const browser = host.newBrowser();
    const begun = await browser.open("/sign-in?to=/me");
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^turnpike-sign-in=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/),
    ]);
    const { address } = await browser.follow("/sign-in?to=/me");
    const session = await browser.send("/me/v1/session", { code: codeIn(address) });
    expect(session.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^turnpike-me=[0-9a-f]{16}_[0-9a-f]{64}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
      ),
    ]);
  });

  test("are taken from this host alone over https", async () => {
    const { host } = await open({ tenant: "acme" }, { publicUrl: "https://gate.example.com" });
    const begun = await host.newBrowser().open("/sign-in?to=/me");
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-turnpike-sign-in=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/),
    ]);
    const asked = new URL(locationOf(begun)).searchParams;
    expect(asked.get("redirect_uri")).toBe("https://gate.example.com/sign-in/callback");
  });
});

test("addresses with a code in them are stored by no cache, and told to no other site", async () => {
  const { host } = await open();
  const browser = host.newBrowser();
  const begun = await browser.open("/sign-in?to=/me");
  const ended = await browser.open(locationOf(await browser.open(locationOf(begun))).replace(host.origin, ""));
  expect(codeIn(locationOf(ended))).toMatch(/^[0-9a-f]{16}_[0-9a-f]{32}$/);
  for (const { headers } of [begun, ended])
    expect([headers.get("cache-control"), headers.get("referrer-policy")]).toEqual(["no-store", "no-referrer"]);
});

test("an answer with another state uses up nothing: the sign-in that it was sent into ends as it would have", async () => {
  const { host, provider } = await open();
  const browser = host.newBrowser();
  const callback = await answered(host, browser);
  const asked = provider.requests.length;
  const wrong = callback.replace(/state=\w+/, `state=${"0".repeat(64)}`);
  expect((await browser.open(wrong)).status).toBe(400);
  expect(provider.requests).toHaveLength(asked);
  expect(codeIn(locationOf(await browser.open(callback)))).not.toBe("");
});

test("a page of another site begins no session with a code, and the person's own page does", async () => {
  const { host } = await open();
  const browser = host.newBrowser();
  const { address } = await browser.follow("/sign-in?to=/me");
  const code = codeIn(address);
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ]) {
    const refused = await browser.send("/me/v1/session", { code }, headers);
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
  }
  expect((await browser.send("/me/v1/session", { code })).status).toBe(201);
});

describe("no one is let in, and the page says why, who", () => {
  const rows: {
    name: string;
    user?: object;
    to?: string;
    says: string;
    prepare?: (host: SigningHost) => Promise<unknown>;
  }[] = [
    { name: "has no name that is a step of a path", user: { sub: "a/b" }, says: "gives you no name" },
    { name: "has the name of the folder above", user: { sub: ".." }, says: "gives you no name" },
    { name: "is of no tenant", user: { org: undefined }, says: "names no tenant of yours" },
    { name: "is of the operators' tenant, by a claim", user: { org: "operators" }, says: "names no tenant of yours" },
    { name: "is of two tenants", user: { org: ["acme", "globex"] }, says: "names no tenant of yours" },
    { name: "is no operator", to: "/console", says: "You are no operator here." },
    {
      name: "was revoked",
      says: "Your access was revoked.",
      async prepare(host) {
        await enter(host);
        const person = await host.stores.people.find("acme", alice);
        await host.stores.credentials.revoke(person?.credentialId ?? "", new Date().toISOString());
      },
    },
    {
      name: "has the name of another user",
      says: "Another user signs in under your name.",
      prepare: (host) =>
        host.stores.people.enter(
          {
            kind: "person",
            issuer: "https://other.example",
            providerSubject: "alice",
            namespaceId: "acme",
            principal: alice,
            name: undefined,
            access: { actor: alice, owner: alice, purposes: ["work"], signedIn: true },
            holds: undefined,
          },
          "2026-01-01T00:00:00.000Z",
        ),
    },
    {
      name: "is of a tenant that was deleted",
      says: "Your tenant was deleted.",
      prepare: (host) =>
        host.stores.tenants.begin("acme", { actor: alice, operator: "o", at: "2026-01-01T00:00:00.000Z" }),
    },
  ];
  for (const { name, user = {}, to = "/me", says, prepare } of rows)
    test(name, async () => {
      const { host, provider } = await open();
      await prepare?.(host);
      provider.user = { sub: "alice", org: "acme", ...user };
      const { address, response } = await host.newBrowser().follow(`/sign-in?to=${to}`);
      expect([response.status, await response.text(), codeIn(address)]).toEqual([
        403,
        expect.stringContaining(says),
        "",
      ]);
      // The control: a colleague.
      provider.user = { sub: "bob", org: "globex", groups: ["desk"] };
      expect(codeIn((await host.newBrowser().follow(`/sign-in?to=${to}`)).address)).not.toBe("");
    });
});

test("a person whom the provider moves to another tenant loses the sessions in the former one", async () => {
  const { host, provider } = await open();
  const former = await enter(host);
  expect(await former()).toBe(true);
  provider.user = { sub: "alice", org: "globex" };
  const present = await enter(host);
  expect([await former(), await present()]).toEqual([false, true]);
  // An operator's sign-in says nothing of the tenants of the person.
  provider.user = { sub: "alice", groups: ["desk"] };
  await host.newBrowser().follow("/sign-in?to=/console");
  expect(await present()).toBe(true);
});

test("what a provider is called and admits to is said without its address, its client or its secret", async () => {
  const { host } = await open();
  const answer = await host.newBrowser().open("/sign-in/providers");
  expect(await answer.json()).toEqual({ providers: [{ name: "Acme", console: true, me: true }], tokens: true });
});

test("a logout that another key signed ends nothing, and no cache stores what became of one", async () => {
  const { host, provider } = await open();
  const isOpen = await enter(host);
  const post = async (isForeignKey: boolean) =>
    host.send(
      new Request(`${host.origin}/sign-in/logout`, {
        method: "POST",
        headers: { host: "127.0.0.1:8787", "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({
          logout_token: await provider.signLogout({ sub: "alice" }, isForeignKey),
        }).toString(),
      }),
    );
  const refused = await post(true);
  expect([refused.status, refused.headers.get("cache-control"), await isOpen()]).toEqual([400, "no-store", true]);
  const done = await post(false);
  expect([done.status, done.headers.get("cache-control"), await isOpen()]).toEqual([200, "no-store", false]);
});
