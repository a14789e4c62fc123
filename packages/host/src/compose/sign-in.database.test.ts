import { describe, expect, test } from "vitest";
import { databaseKinds, openPair } from "../../test/databases.ts";
import { openSigningHost, type SigningHost } from "../../test/signing-host.ts";
import { signInProviderOfTest, type SignInProvider } from "../../test/sign-in-provider.ts";
import type { TestBrowser } from "../../test/test-browser.ts";

interface Hosts {
  provider: SignInProvider;
  one: SigningHost;
  other: SigningHost;
}

async function openHosts(): Promise<Hosts> {
  const provider = await signInProviderOfTest({ sub: "carol", sid: "session-1" });
  const signIn = { issuer: provider.issuer, clientId: "turnpike", people: { tenant: "acme" } };
  const [first, second] = await openPair();
  return { provider, one: await openSigningHost(first, signIn), other: await openSigningHost(second, signIn) };
}

const locationOf = (response: Response): string => response.headers.get("location") ?? "";

/** The same browser at the other host, as behind a balancer. */
function browserAt(host: SigningHost, browser: TestBrowser): TestBrowser {
  const there = host.newBrowser();
  for (const [name, value] of browser.cookies) there.cookies.set(name, value);
  return there;
}

/** Signs a user in; returns the half that their page holds. */
async function enter({ one }: Hosts, browser: TestBrowser): Promise<Record<string, string>> {
  const { address } = await browser.follow("/sign-in?to=/me");
  const begun = await browser.send("/me/v1/session", { code: new URL(address).hash.replace("#code=", "") });
  expect([begun.status, new URL(address).origin]).toEqual([201, one.origin]);
  return { "x-turnpike-me": ((await begun.json()) as { pageSecret: string }).pageSecret };
}

const statusOf = async (browser: TestBrowser, half: Record<string, string>): Promise<number> =>
  (await browser.send("/me/v1/session", undefined, half)).status;

describe.runIf(databaseKinds.includes("postgres"))("two hosts on one database", () => {
  test("share a sign-in at each of its steps", async () => {
    const { one, other } = await openHosts();
    const browser = one.newBrowser();
    const begun = await browser.open("/sign-in?to=/me");
    const callback = locationOf(await browser.open(locationOf(begun)));
    const there = browserAt(other, browser);
    const code = new URL(locationOf(await there.open(callback))).hash.replace("#code=", "");
    expect((await browser.open(callback)).status).toBe(400);
    expect((await browser.send("/me/v1/session", { code })).status).toBe(201);
    expect((await there.send("/me/v1/session", { code })).status).toBe(401);
  });

  test("a session that ends at one host is over on the next request at the other, however it ends", async () => {
    const hosts = await openHosts();
    const { one, other, provider } = hosts;
    const signInAt = async () => {
      const browser = one.newBrowser();
      const half = await enter(hosts, browser);
      const there = browserAt(other, browser);
      expect(await statusOf(there, half)).toBe(200);
      return { browser, half, there };
    };
    const signedOut = await signInAt();
    await signedOut.browser.send("/sign-out", {}, signedOut.half);
    expect(await statusOf(signedOut.there, signedOut.half)).toBe(401);

    const loggedOut = await signInAt();
    const logout = new URLSearchParams({ logout_token: await provider.signLogout({ sid: "session-1" }) });
    const sent = new Request(`${one.origin}/sign-in/logout`, { method: "POST", body: logout.toString() });
    sent.headers.set("host", new URL(one.origin).host);
    expect((await one.send(sent)).status).toBe(200);
    expect(await statusOf(loggedOut.there, loggedOut.half)).toBe(401);

    const revoked = await signInAt();
    const person = await one.stores.people.find("acme", { kind: "human", userId: "carol" });
    await one.stores.credentials.revoke(person?.credentialId ?? "", new Date().toISOString());
    expect(await statusOf(revoked.there, revoked.half)).toBe(401);
  });
});
