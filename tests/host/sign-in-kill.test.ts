import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { type SignInProvider, signInProviderOfTest } from "../../packages/host/test/sign-in-provider.ts";
import { type TestBrowser, testBrowser } from "../../packages/host/test/test-browser.ts";
import { type HostProcess, makeFolder, startHostProcess } from "../support/host-process.ts";

const hold = { resource: { namespace: "files", path: ["den", "{subject}"] }, actions: ["read"], scope: "descendants" };

/** A folder with a host that Alice's provider signs people in to, who hold one grant each. */
async function prepare(): Promise<{ folder: string; provider: SignInProvider }> {
  const provider = await signInProviderOfTest({ sub: "alice" });
  const folder = makeFolder();
  const people = { tenant: "acme", holds: [hold] };
  const signIn = { issuer: provider.issuer, clientId: "turnpike", people };
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ signIn }));
  return { folder, provider };
}

const start = (folder: string): Promise<HostProcess> => startHostProcess({ folder });

/** A browser at a host, with the cookies that it has from the one before. */
function browserAt({ url }: HostProcess, cookies: Iterable<[string, string]> = []): TestBrowser {
  const browser = testBrowser(url, (request) => fetch(request, { redirect: "manual" }));
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  return browser;
}

const locationOf = (response: Response): string => response.headers.get("location") ?? "";

/** Begins a sign-in, and returns where the provider sends the browser back to. */
async function callbackOf(browser: TestBrowser): Promise<string> {
  return locationOf(await browser.open(locationOf(await browser.open("/sign-in?to=/me"))));
}

/** Begins a session with the code that ended a sign-in; returns the status. */
async function enter(browser: TestBrowser, ended: string): Promise<number> {
  const code = new URL(ended).hash.replace("#code=", "");
  return (await browser.send("/me/v1/session", { code })).status;
}

/** How many people, grants and credentials the tenant has. */
async function issued(host: HostProcess): Promise<number[]> {
  const count = async (what: string): Promise<number> => {
    const path = `/admin/v1/${what}?namespaceId=acme`;
    const { body } = await ask(host.url, path, { token: host.operatorToken() });
    return ((body as Record<string, unknown[]>)[what] ?? []).length;
  };
  return [await count("people"), await count("grants"), await count("credentials")];
}

test("a host that is killed while it asks the provider has let no one in, and the next sign-in is whole", async () => {
  const { folder, provider } = await prepare();
  const killed = await start(folder);
  const browser = browserAt(killed);
  const callback = await callbackOf(browser);
  provider.misbehavior = { silentAt: "/token" };
  const answer = browser.open(callback).catch(() => undefined);
  await eventually(() => expect(provider.requests).toContain("/token"));
  await killed.stop("SIGKILL");
  expect(await answer).toBeUndefined();
  provider.misbehavior = {};

  const host = await start(folder);
  expect(await issued(host)).toEqual([0, 0, 0]);
  const again = browserAt(host, browser.cookies);
  // The answer was taken, and does not count a second time.
  expect((await again.open(callback.replace(killed.url, ""))).status).toBe(400);
  const ended = locationOf(await again.open(await callbackOf(again)));
  expect(await enter(again, ended)).toBe(201);
  expect(await issued(host)).toEqual([1, 1, 1]);
});

test("a host that is killed before a sign-in became a session has issued everything once, and its code still counts once", async () => {
  const { folder } = await prepare();
  const killed = await start(folder);
  const browser = browserAt(killed);
  const ended = locationOf(await browser.open(await callbackOf(browser)));
  await killed.stop("SIGKILL");

  const host = await start(folder);
  const again = browserAt(host, browser.cookies);
  expect([await enter(again, ended), await enter(again, ended)]).toEqual([201, 401]);
  await again.open(await callbackOf(again));
  expect(await issued(host)).toEqual([1, 1, 1]);
});
