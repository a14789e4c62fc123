import { createHash } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { asFetch } from "../../test/fetch-front.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { createFront, serveProtocol } from "../front/index.ts";
import { createMetrics } from "../telemetry/index.ts";
import { openDemoProvider } from "./demo-provider.ts";

const issuer = "http://localhost/turnpike-demo";
const url = "http://127.0.0.1:8787";
const verifier = "v".repeat(64);
const asked = {
  client_id: "turnpike-demo",
  response_type: "code",
  redirect_uri: `${url}/sign-in/callback`,
  state: "state-1",
  nonce: "nonce-1",
  code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  code_challenge_method: "S256",
};

async function open() {
  const provider = await openDemoProvider(() => url);
  const protocols = [serveProtocol(provider.protocol)];
  const send = asFetch(createFront({ protocols, log: recordingLog(), metrics: createMetrics(), tracing: undefined }));
  const visit = (path: string, changes: object = {}) =>
    send(new Request(`${url}${path}?${new URLSearchParams({ ...asked, ...changes }).toString()}`));
  const exchange = (code: string, changes: object = {}) =>
    provider.fetch(`${issuer}/token`, {
      method: "POST",
      body: new URLSearchParams({
        code,
        redirect_uri: asked.redirect_uri,
        code_verifier: verifier,
        ...changes,
      }).toString(),
    });
  const codeOf = async () =>
    new URL((await visit("/demo/sign-in/alice")).headers.get("location") ?? "").searchParams.get("code") ?? "";
  return { provider, visit, exchange, codeOf };
}

test("its page has a button for each of three users, which sends the browser back as that user", async () => {
  const { provider, visit, exchange } = await open();
  const page = await visit("/demo/sign-in");
  const links = [...(await page.text()).matchAll(/href="(\/demo\/sign-in\/\w+)\?[^"]*">([^<]+)</g)];
  expect([page.status, ...links.map(([, path, says]) => [path, says])]).toEqual([
    200,
    ["/demo/sign-in/alice", "Sign in as Alice"],
    ["/demo/sign-in/bob", "Sign in as Bob"],
    ["/demo/sign-in/carol", "Sign in as Carol"],
  ]);
  const back = new URL((await visit("/demo/sign-in/bob")).headers.get("location") ?? "");
  expect([back.origin + back.pathname, back.searchParams.get("state"), back.searchParams.get("iss")]).toEqual([
    `${url}/sign-in/callback`,
    "state-1",
    issuer,
  ]);
  const { id_token } = (await (await exchange(back.searchParams.get("code") ?? "")).json()) as { id_token: string };
  const keys = (await (await provider.fetch(`${issuer}/keys`)).json()) as Parameters<typeof createLocalJWKSet>[0];
  const { payload } = await jwtVerify(id_token, createLocalJWKSet(keys), { issuer, audience: "turnpike-demo" });
  expect(payload).toMatchObject({ sub: "bob", name: "Bob", nonce: "nonce-1" });
});

for (const { name, changes } of [
  { name: "another site's address", changes: { redirect_uri: "https://evil.example/sign-in/callback" } },
  { name: "another port", changes: { redirect_uri: "http://127.0.0.1:1/sign-in/callback" } },
  { name: "another path", changes: { redirect_uri: `${url}/console` } },
  { name: "an address with a query", changes: { redirect_uri: `${url}/sign-in/callback?a=b` } },
  { name: "what is no address", changes: { redirect_uri: "callback" } },
  { name: "another client", changes: { client_id: "another" } },
  { name: "a challenge that is its verifier", changes: { code_challenge_method: "plain" } },
])
  test(`it sends no browser back for ${name}`, async () => {
    const { visit } = await open();
    for (const path of ["/demo/sign-in", "/demo/sign-in/alice"]) {
      const answer = await visit(path, changes);
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    }
    expect((await visit("/demo/sign-in/alice")).status).toBe(303);
  });

test("a code counts once, with the verifier of its challenge and its own address", async () => {
  const { exchange, codeOf } = await open();
  expect((await exchange(await codeOf(), { code_verifier: "w".repeat(64) })).status).toBe(400);
  expect((await exchange(await codeOf(), { redirect_uri: "http://localhost:8787/sign-in/callback" })).status).toBe(400);
  expect((await exchange("made-up")).status).toBe(400);
  const code = await codeOf();
  expect([(await exchange(code)).status, (await exchange(code)).status]).toEqual([200, 400]);
});

test("before its host listens it is away, and it knows no other addresses", async () => {
  const { fetch: ask } = await openDemoProvider(() => undefined);
  expect((await ask(`${issuer}/.well-known/openid-configuration`)).status).toBe(503);
  expect((await ask(`${issuer}/userinfo`)).status).toBe(404);
});
