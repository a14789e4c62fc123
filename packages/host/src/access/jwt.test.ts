import { exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { transports, type Loopback } from "../../../../tests/support/loopback.ts";
import {
  audience,
  goodClaims,
  identityProvider,
  inAnHour,
  issuer,
  noon,
  trusting,
} from "../../../../tests/support/host/identity-provider.ts";
import { createJwtVerifier } from "./jwt.ts";

const alice = { kind: "human", userId: "alice" };
const credential = {
  id: "jwt:https://id.example:human:alice",
  namespaceId: "tenant-1",
  access: { actor: alice, owner: alice, authority: alice, purposes: ["support", "billing"] },
};

for (const alg of ["RS256", "ES256", "EdDSA"]) {
  test(`a token signed with ${alg} by a key of the set is good, and by another key it is not`, async () => {
    const [provider, stranger] = [await identityProvider(alg), await identityProvider(alg)];
    const jwt = createJwtVerifier(trusting(provider));
    expect(await jwt.verify(await provider.sign(), noon)).toEqual(credential);
    expect(await jwt.verify(await stranger.sign(), noon)).toBeUndefined();
  });
}

/** A key set that somebody serves. */
async function servedKeys(answer: () => Response): Promise<Loopback> {
  const server = await transports.find(({ name }) => name === "over loopback")?.open(() => Promise.resolve(answer()));
  if (server === undefined) throw new Error("There is no transport over loopback.");
  return server;
}

const seconds = noon.getTime() / 1000;

const refused: { name: string; claims: Record<string, unknown> }[] = [
  { name: "another issuer", claims: { iss: "https://evil.example" } },
  { name: "no issuer", claims: { iss: undefined } },
  { name: "another audience", claims: { aud: "elsewhere" } },
  { name: "no audience", claims: { aud: undefined } },
  { name: "an expiry that is now", claims: { exp: seconds } },
  { name: "an expiry in the past", claims: { exp: seconds - 1 } },
  { name: "no expiry", claims: { exp: undefined } },
  { name: "no subject", claims: { sub: undefined } },
  { name: "a time before which it is not good", claims: { nbf: seconds + 60 } },
];
for (const row of refused) {
  test(`a token with ${row.name} is nobody's`, async () => {
    const provider = await identityProvider();
    const jwt = createJwtVerifier(trusting(provider));
    expect(await jwt.verify(await provider.sign(row.claims), noon)).toBeUndefined();
    expect(await jwt.verify(await provider.sign(), noon)).toEqual(credential);
  });
}

test("a token for several audiences is good when this is one of them", async () => {
  const provider = await identityProvider();
  const token = await provider.sign({ aud: ["elsewhere", audience] });
  expect(await createJwtVerifier(trusting(provider)).verify(token, noon)).toEqual(credential);
});

for (const algorithms of [
  ["RS256", "ES256", "EdDSA"],
  ["RS256", "HS256", "none"],
]) {
  test(`a token that is unsigned, or signed with the public key as a secret, is nobody's where ${algorithms.join(", ")} count`, async () => {
    const provider = await identityProvider("RS256");
    const jwt = createJwtVerifier(trusting(provider, { algorithms }));
    const unsigned = new UnsecuredJWT(goodClaims).encode();
    expect(unsigned).toMatch(/^[^.]+\.[^.]+\.$/);
    expect(await jwt.verify(unsigned, noon)).toBeUndefined();
    const secrets = [await exportSPKI(provider.publicKey), JSON.stringify(provider.jwks.keys[0])];
    for (const secret of secrets) {
      const forged = await new SignJWT(goodClaims)
        .setProtectedHeader({ alg: "HS256", kid: "key-1" })
        .sign(new TextEncoder().encode(secret));
      expect(await jwt.verify(forged, noon)).toBeUndefined();
    }
  });
}

test("an algorithm that is not configured does not count, whatever the key set says", async () => {
  const provider = await identityProvider("ES256");
  const token = await provider.sign();
  expect(await createJwtVerifier(trusting(provider, { algorithms: ["RS256"] })).verify(token, noon)).toBeUndefined();
});

test("a token that was changed or cut is nobody's", async () => {
  const provider = await identityProvider();
  const jwt = createJwtVerifier(trusting(provider));
  const token = await provider.sign();
  const [head = "", , signature = ""] = token.split(".");
  const other = Buffer.from(JSON.stringify({ ...goodClaims, tenant: "tenant-2" })).toString("base64url");
  for (const garbled of [
    `${head}.${other}.${signature}`,
    token.slice(0, -2),
    `${head}.${signature}`,
    head,
    "a.b.c",
    "",
  ]) {
    expect(await jwt.verify(garbled, noon)).toBeUndefined();
  }
});

test("a verified token is kept until it expires, and not a moment longer", async () => {
  const provider = await identityProvider();
  const jwt = createJwtVerifier(trusting(provider));
  const token = await provider.sign();
  const first = await jwt.verify(token, noon);
  expect(await jwt.verify(token, new Date(inAnHour * 1000 - 1000))).toBe(first);
  expect(await jwt.verify(token, new Date(inAnHour * 1000))).toBeUndefined();
});

test("a key set by URL is fetched, and a token of an unknown key or an unreachable set is nobody's", async () => {
  const [provider, stranger] = [await identityProvider("ES256", "key-1"), await identityProvider("ES256", "key-2")];
  let fetched = 0;
  const server = await servedKeys(() => {
    fetched += 1;
    return Response.json(provider.jwks);
  });
  const config = trusting(provider, { jwks: `${server.baseUrl}/jwks.json` });
  const jwt = createJwtVerifier(config);
  expect(await jwt.verify(await provider.sign(), noon)).toEqual(credential);
  expect(await jwt.verify(await provider.sign({ sub: "human:bob" }), noon)).toMatchObject({ namespaceId: "tenant-1" });
  expect(fetched).toBe(1);
  expect(await jwt.verify(await stranger.sign(), noon)).toBeUndefined();
  await server.close();
  expect(await createJwtVerifier(config).verify(await provider.sign(), noon)).toBeUndefined();
});

test("a key set that answers nonsense lets nobody in", async () => {
  const provider = await identityProvider();
  const server = await servedKeys(() => new Response("<html>"));
  onTestFinished(() => server.close());
  const jwt = createJwtVerifier(trusting(provider, { jwks: server.baseUrl }));
  expect(await jwt.verify(await provider.sign(), noon)).toBeUndefined();
});

test("two providers' subjects are two credentials", async () => {
  const provider = await identityProvider();
  const elsewhere = "https://other.example";
  const [one, other] = [
    await createJwtVerifier(trusting(provider)).verify(await provider.sign(), noon),
    await createJwtVerifier(trusting(provider, { issuer: elsewhere })).verify(
      await provider.sign({ iss: elsewhere }),
      noon,
    ),
  ];
  expect([one?.id, other?.id]).toEqual([`jwt:${issuer}:human:alice`, `jwt:${elsewhere}:human:alice`]);
});
