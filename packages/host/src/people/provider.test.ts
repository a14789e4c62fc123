import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { openProvider, ProviderAwayError, SignInRefusedError } from "./provider.ts";
import { SignInConfigSchema, providersOf } from "./sign-in-config.ts";

const issuer = "https://id.example";
const secrets = { state: "s".repeat(64), nonce: "n".repeat(64), verifier: "v".repeat(64) };
const answer = new URL(`https://gate.example/sign-in/callback?code=c&state=${secrets.state}&iss=${issuer}`);
const pair = await generateKeyPair("ES256");
const key = { ...(await exportJWK(pair.publicKey)), kid: "key-1", alg: "ES256" };

const signed = (claims: object) =>
  new SignJWT({ iss: issuer, aud: "turnpike", ...claims })
    .setProtectedHeader({ alg: "ES256", kid: "key-1" })
    .setIssuedAt()
    .setExpirationTime("5 minutes")
    .sign(pair.privateKey);
const logoutEvents = { "http://schemas.openid.net/event/backchannel-logout": {} };

type Answer = () => Response | Promise<Response>;

/** A provider that answers as it should, but at one place. */
function open(wrong: Record<string, Answer> = {}) {
  const [config] = providersOf(SignInConfigSchema.parse({ issuer, clientId: "turnpike", people: { tenant: "acme" } }));
  if (config === undefined) throw new Error("One is configured.");
  const answers: Record<string, Answer> = {
    "/.well-known/openid-configuration": () =>
      Response.json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        id_token_signing_alg_values_supported: ["ES256"],
        authorization_response_iss_parameter_supported: true,
      }),
    "/keys": () => Response.json({ keys: [key] }),
    "/token": async () =>
      Response.json({
        access_token: "a",
        token_type: "Bearer",
        id_token: await signed({ sub: "alice", nonce: secrets.nonce }),
      }),
    ...wrong,
  };
  const ask = async (input: string | URL | Request): Promise<Response> => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    return (await answers[pathname]?.()) ?? new Response(null, { status: 404 });
  };
  return openProvider(config, { fetch: ask });
}

const fails =
  (thrown: Error): Answer =>
  () =>
    Promise.reject(thrown);
/** What Fetch throws. */
const troubles: { name: string; trouble: Answer }[] = [
  { name: "does not answer in time", trouble: fails(new DOMException("It took too long.", "TimeoutError")) },
  { name: "cannot be reached", trouble: fails(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })) },
  { name: "has a problem of its own", trouble: () => Response.json({ error: "server_error" }, { status: 503 }) },
];

test("an answer of a provider that is there proves who signed in", async () => {
  expect(await open().prove(answer, secrets)).toMatchObject({ iss: issuer, sub: "alice" });
});

for (const { name, trouble } of troubles)
  describe(`a provider that ${name} is away, and refuses no one`, () => {
    for (const path of ["/.well-known/openid-configuration", "/token", "/keys"])
      test(`at ${path}`, async () => {
        await expect(open({ [path]: trouble }).prove(answer, secrets)).rejects.toThrow(ProviderAwayError);
      });

    test("when it signs a user out", async () => {
      const token = await signed({ sub: "alice", jti: "j", events: logoutEvents });
      await expect(open({ "/keys": trouble }).readLogout(token)).rejects.toThrow(ProviderAwayError);
      expect(await open().readLogout(token)).toMatchObject({ id: "j", sub: "alice" });
    });
  });

test("a provider that was away is asked for its metadata again", async () => {
  let asked = 0;
  const away = () => {
    asked += 1;
    return new Response(null, { status: 500 });
  };
  const provider = open({ "/.well-known/openid-configuration": away });
  for (const times of [1, 2]) {
    await expect(provider.addressOf(answer.href, secrets)).rejects.toThrow(ProviderAwayError);
    expect(asked).toBe(times);
  }
});

test("a provider that says of an answer that it is over refuses it, and is not away", async () => {
  const over = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  await expect(open({ "/token": over }).prove(answer, secrets)).rejects.toThrow(SignInRefusedError);
});

test("a browser is sent with a challenge, a state and a nonce, and the challenge is not the verifier", async () => {
  const { searchParams } = await open().addressOf("https://gate.example/sign-in/callback", secrets);
  expect(Object.fromEntries(searchParams)).toEqual({
    client_id: "turnpike",
    redirect_uri: "https://gate.example/sign-in/callback",
    response_type: "code",
    scope: "openid profile email",
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: "S256",
    state: secrets.state,
    nonce: secrets.nonce,
  });
});
