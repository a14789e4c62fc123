import { exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
  audience,
  goodClaims,
  identityProvider,
  inAnHour,
  issuer,
  noon,
  trusting,
} from "../../test/identity-provider.ts";
import { createJwtVerifier } from "./jwt.ts";
import type { JwtConfig } from "./jwt-config.ts";

const alice = { kind: "human", userId: "alice" };
const credential = {
  id: "jwt:https://id.example:human:alice",
  namespaceId: "tenant-1",
  access: { actor: alice, owner: alice, authority: alice, purposes: ["support", "billing"] },
};

// Keys of RSA take long to make, so they are made before the time of a test runs.
const [rsa, otherRsa] = await Promise.all([identityProvider("RS256"), identityProvider("RS256")]);

for (const alg of ["RS256", "ES256", "EdDSA"]) {
  test(`a token signed with ${alg} by a key of the set is good, and by another key it is not`, async () => {
    const provider = alg === "RS256" ? rsa : await identityProvider(alg);
    const stranger = alg === "RS256" ? otherRsa : await identityProvider(alg);
    const jwt = createJwtVerifier(trusting(provider));
    expect(await jwt.verify(await provider.sign(), noon)).toEqual(credential);
    expect(await jwt.verify(await stranger.sign(), noon)).toBeUndefined();
  });
}

describe("of keys that a token's header does not tell apart", () => {
  for (const kid of [undefined, "same"]) {
    test(`each counts and no other does, with ${kid ?? "no"} id`, async () => {
      const [first, second, stranger] = [await identityProvider(), await identityProvider(), await identityProvider()];
      const keys = [first, second].flatMap(({ jwks }) => jwks.keys.map((key) => Object.assign(key, { kid })));
      const jwt = createJwtVerifier(trusting({ ...first, jwks: { keys } }));
      for (const provider of [first, second])
        expect(await jwt.verify(await provider.sign({}, { kid }), noon)).toEqual(credential);
      expect(await jwt.verify(await stranger.sign({}, { kid }), noon)).toBeUndefined();
      expect(await jwt.verify(await second.sign({ iss: "https://evil.example" }, { kid }), noon)).toBeUndefined();
    });
  }
});

const seconds = noon.getTime() / 1000;

const refused: { name: string; claims: Record<string, unknown> }[] = [
  { name: "another issuer", claims: { iss: "https://evil.example" } },
  { name: "no issuer", claims: { iss: undefined } },
  { name: "another audience", claims: { aud: "elsewhere" } },
  { name: "no audience", claims: { aud: undefined } },
  { name: "an expiry that is now", claims: { exp: seconds } },
  { name: "an expiry in the past", claims: { exp: seconds - 1 } },
  { name: "no expiry", claims: { exp: undefined } },
  { name: "an expiry that is no number", claims: { exp: "tomorrow" } },
  { name: "a time, a second away, before which it is not good", claims: { nbf: seconds + 1 } },
  {
    name: "a key that its bearer has to prove",
    claims: { cnf: { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } },
  },
  { name: "a binding that says nothing", claims: { cnf: null } },
  {
    name: "a certificate and a key that its bearer has to prove",
    claims: { cnf: { "x5t#S256": "A".repeat(43), jkt: "a" } },
  },
  ...["A".repeat(42), "A".repeat(44), `${"A".repeat(43)}=`, `.${"A".repeat(43)}`, ["A".repeat(43)]].map((hash) => ({
    name: `a certificate whose hash is ${JSON.stringify(hash)}`,
    claims: { cnf: { "x5t#S256": hash } },
  })),
  { name: "the hash of an access token, as ID tokens have", claims: { at_hash: "MTIzNDU2Nzg5MDEyMzQ1Ng" } },
  { name: "the hash of a code, as ID tokens have", claims: { c_hash: "LDktKdoQak3Pk0cnXxCltA" } },
  {
    name: "an event, as logout tokens have",
    claims: { events: { "http://schemas.openid.net/event/backchannel-logout": {} } },
  },
];
for (const row of refused) {
  test(`a token with ${row.name} is not valid`, async () => {
    const provider = await identityProvider();
    const jwt = createJwtVerifier(trusting(provider));
    expect(await jwt.verify(await provider.sign(row.claims), noon)).toBeUndefined();
    expect(await jwt.verify(await provider.sign(), noon)).toEqual(credential);
  });
}

for (const sub of [undefined, null, 7, "", ["human:alice"]]) {
  test(`a token whose subject is ${JSON.stringify(sub)} is not valid, whatever claim names the actor`, async () => {
    const provider = await identityProvider();
    const claims = { tenant: "tenant", actor: "user", purposes: "scope" };
    const jwt = createJwtVerifier(trusting(provider, { claims }));
    expect(await jwt.verify(await provider.sign({ sub, user: "human:alice" }), noon)).toBeUndefined();
    expect(await jwt.verify(await provider.sign({ user: "human:alice" }), noon)).toEqual(credential);
  });
}

describe("the type of a token", () => {
  const usual = ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt", "JWT", "jwt", "application/jwt"];
  for (const typ of [undefined, ...usual]) {
    test(`${typ ?? "left out"} is an access token's`, async () => {
      const provider = await identityProvider();
      const jwt = createJwtVerifier(trusting(provider));
      expect(await jwt.verify(await provider.sign({}, { typ }), noon)).toEqual(credential);
    });
  }

  for (const typ of [
    "logout+jwt",
    "dpop+jwt",
    "secevent+jwt",
    "id_token+jwt",
    "oauth-authz-req+jwt",
    "application/application/at+jwt",
    "at+application/jwt",
    "text/jwt",
    "at+jwt ",
    "",
    7,
    null,
  ]) {
    test(`${JSON.stringify(typ)} is not an access token's`, async () => {
      const provider = await identityProvider();
      const jwt = createJwtVerifier(trusting(provider));
      expect(await jwt.verify(await provider.sign({}, { typ }), noon)).toBeUndefined();
    });
  }

  test("has to be one of those that are configured, and has to be there then", async () => {
    const provider = await identityProvider();
    const jwt = createJwtVerifier(trusting(provider, { types: ["application/at+jwt"] }));
    expect(await jwt.verify(await provider.sign({}, { typ: "at+jwt" }), noon)).toEqual(credential);
    expect(await jwt.verify(await provider.sign({}, { typ: "JWT" }), noon)).toBeUndefined();
    expect(await jwt.verify(await provider.sign(), noon)).toBeUndefined();
  });
});

describe("a header that changes what a token means makes it invalid:", () => {
  for (const row of [
    { name: "an extension that has to be understood", header: { crit: ["exp"], exp: inAnHour } },
    { name: "an unknown one", header: { crit: ["urn:example:new"], "urn:example:new": true } },
    { name: "a list of none", header: { crit: [] } },
    { name: "a payload that is not encoded", header: { crit: ["b64"], b64: false } },
  ]) {
    test(row.name, async () => {
      const provider = await identityProvider();
      const jwt = createJwtVerifier(trusting(provider));
      expect(await jwt.verify(await provider.signRaw(row.header), noon)).toBeUndefined();
      expect(await jwt.verify(await provider.signRaw({}), noon)).toEqual(credential);
    });
  }
});

test("a key in a set that is a shared secret verifies nothing", async () => {
  const provider = await identityProvider();
  const secret = new TextEncoder().encode("a secret that is long enough for HS256");
  const shared = { kty: "oct", kid: "shared", k: Buffer.from(secret).toString("base64url") };
  const keys = [...provider.jwks.keys, shared, { ...shared, alg: "HS256", use: "sig" }];
  const everyAlgorithm = ["ES256", "HS256"] as JwtConfig["algorithms"];
  const jwt = createJwtVerifier(trusting({ ...provider, jwks: { keys } }, { algorithms: everyAlgorithm }));
  const forged = await new SignJWT(goodClaims).setProtectedHeader({ alg: "HS256", kid: "shared" }).sign(secret);
  expect(await jwt.verify(forged, noon)).toBeUndefined();
  expect(await jwt.verify(await provider.sign(), noon)).toEqual(credential);
});

test("a token for several audiences is good when this is one of them", async () => {
  const provider = await identityProvider();
  const token = await provider.sign({ aud: ["elsewhere", audience] });
  expect(await createJwtVerifier(trusting(provider)).verify(token, noon)).toEqual(credential);
});

for (const algorithms of [
  ["RS256", "ES256", "EdDSA"],
  ["RS256", "HS256", "none"],
]) {
  test(`a token that is unsigned, or signed with the public key as a secret, is not valid where ${algorithms.join(", ")} count`, async () => {
    const provider = rsa;
    const jwt = createJwtVerifier(trusting(provider, { algorithms: algorithms as JwtConfig["algorithms"] }));
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

test("a token that was changed or cut is not valid", async () => {
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

test("a token counts until it expires, and not an instant longer", async () => {
  const provider = await identityProvider();
  const jwt = createJwtVerifier(trusting(provider));
  const token = await provider.sign();
  const first = await jwt.verify(token, noon);
  expect(await jwt.verify(token, new Date(inAnHour * 1000 - 1000))).toBe(first);
  expect(await jwt.verify(token, new Date(inAnHour * 1000))).toBeUndefined();
});

test("several tokens are remembered beside each other", async () => {
  const provider = await identityProvider();
  const jwt = createJwtVerifier(trusting(provider));
  const tokens = [await provider.sign(), await provider.sign({ sub: "human:bob" })];
  const verifyAll = () => Promise.all(tokens.map((token) => jwt.verify(token, noon)));
  const first = await verifyAll();
  for (const [place, again] of (await verifyAll()).entries()) expect(again).toBe(first[place]);
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
