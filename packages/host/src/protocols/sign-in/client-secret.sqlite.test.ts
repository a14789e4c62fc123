import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFresh, temporaryFolder } from "../../../test/databases.ts";
import { signInProviderOfTest } from "../../../test/sign-in-provider.ts";
import { openSigningHost } from "../../../test/signing-host.ts";

/** A host that shows a secret, and its provider, which wants to be shown one. */
async function open(inFile?: string) {
  const provider = await signInProviderOfTest({ sub: "alice" });
  const file = join(temporaryFolder(), "secret");
  const write = (secret: string): void => writeFileSync(file, secret);
  if (inFile !== undefined) write(inFile);
  const people = { tenant: "acme" };
  const signIn = { issuer: provider.issuer, clientId: "turnpike", name: "Acme", clientSecretFile: file, people };
  const host = await openSigningHost(await openFresh("sqlite"), signIn);
  /** Signs in with a new browser, and says how far it came. */
  const enter = async (): Promise<{ status: number; text: string; isIn: boolean }> => {
    const { address, response } = await host.newBrowser().follow("/sign-in?to=/me");
    return { status: response.status, text: await response.text(), isIn: address.includes("#code=") };
  };
  return { provider, host, file, write, enter };
}

for (const { showsIn, secret } of [
  { showsIn: "header", secret: "a:b%20c+d é&=" },
  { showsIn: "body", secret: "a:b%20c+d é&=" },
] as const)
  test(`a secret of any letters is read from its file, without the line's end, and shown in the ${showsIn}`, async () => {
    const { provider, enter } = await open(`${secret}\n`);
    provider.client = { secret, showsIn };
    expect(await enter()).toMatchObject({ isIn: true });
  });

test("a client without a file shows none, and a provider that wants one signs no one in", async () => {
  const provider = await signInProviderOfTest({ sub: "alice" });
  const signIn = { issuer: provider.issuer, clientId: "turnpike", name: "Acme", people: { tenant: "acme" } };
  const host = await openSigningHost(await openFresh("sqlite"), signIn);
  const enter = () => host.newBrowser().follow("/sign-in?to=/me");
  expect((await enter()).address).toContain("#code=");
  provider.client = { secret: "wanted" };
  const { address, response } = await enter();
  expect([response.status, address.includes("#code=")]).toEqual([503, false]);
});

test("a wrong secret signs no one in, and a new one counts at the next sign-in, without a restart", async () => {
  const { provider, host, write, enter } = await open("secret-of-before");
  provider.client = { secret: "secret-of-now" };
  expect(await enter()).toMatchObject({
    status: 503,
    text: expect.stringContaining("Acme does not know this host"),
    isIn: false,
  });
  expect(host.said.at(-2)).toMatchObject({
    level: "warn",
    message: "no one was signed in",
    facts: { provider: "Acme", error: expect.stringContaining("does not take this host for its client turnpike") },
  });
  write("secret-of-now\n");
  expect(await enter()).toMatchObject({ isIn: true });
  provider.client = { secret: "secret-of-tomorrow" };
  expect(await enter()).toMatchObject({ status: 503, isIn: false });
  write("secret-of-tomorrow");
  expect(await enter()).toMatchObject({ isIn: true });
  expect(JSON.stringify(host.said)).not.toContain("secret-of");
});

for (const inFile of [undefined, " \n"])
  test(`no browser is sent to the provider while the secret ${inFile === undefined ? "is not there" : "says nothing"}`, async () => {
    const { provider, host, file, write, enter } = await open(inFile);
    provider.client = { secret: "secret-of-now" };
    expect(await enter()).toMatchObject({ status: 503, isIn: false });
    expect(provider.requests.filter((path) => path === "/authorize")).toEqual([]);
    expect(JSON.stringify(host.said)).toContain(file);
    write("secret-of-now");
    expect(await enter()).toMatchObject({ isIn: true });
    // It is gone while a person is at the provider.
    const browser = host.newBrowser();
    const begun = await browser.open("/sign-in?to=/me");
    const answer = await browser.open(begun.headers.get("location") ?? "");
    rmSync(file);
    expect((await browser.open((answer.headers.get("location") ?? "").replace(host.origin, ""))).status).toBe(503);
  });
