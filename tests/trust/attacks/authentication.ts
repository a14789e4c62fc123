import { createHmac, KeyObject } from "node:crypto";
import { identityProvider, trusting, type IdentityProvider } from "../../../packages/host/test/identity-provider.ts";
import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { change, http, makeCredential, raw } from "./surfaces.ts";
import { alice, assistant, openWorld, type World } from "./world.ts";

const reach = (world: World, headers: Record<string, string>, path = "/v1/reach") => http(world, path, { headers });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const refused = "401 unauthenticated";
const goesIn = "200 computed";
const own = { control: (world: World) => http(world, "/v1/reach", { as: "assistant" }), succeeds: goesIn } as const;

/** Changes one letter of a token's last part. */
const bend = (token: string) => token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
const parts = (token: string) => token.split("_") as [string, string, string];

let provider: IdentityProvider;
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const claims = () => ({ exp: inAnHour(), tenant: "acme", sub: "agent:assistant", scope: "support" });
const signed = (changes = {}, header = {}) => provider.sign({ ...claims(), ...changes }, header);

/** An attack by a token of the identity provider that has something wrong with it. */
function byJwt(name: string, token: () => Promise<string>): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: async (world) => reach(world, bearer(await token())),
    held: refused,
    control: async (world) => reach(world, bearer(await signed())),
    succeeds: goesIn,
  });
}

function byToken(name: string, token: (world: World) => string): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => reach(world, bearer(token(world))),
    held: refused,
    ...own,
  });
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
const known = { iss: "https://id.example", aud: "turnpike" };

/** A token that libraries refuse to write: unsigned under its header. */
const unsigned = (header: object) => `${encoded(header)}.${encoded({ ...known, ...claims() })}`;

/** A token whose key is the public key of the provider, read as a shared secret. */
function signedByPublicKey(): Promise<string> {
  const secret = KeyObject.from(provider.publicKey).export({ type: "spki", format: "pem" });
  const text = unsigned({ alg: "HS256", kid: "key-1" });
  return Promise.resolve(`${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`);
}

/** A token of another caller's key, which the token itself brings along. */
async function signedByOwnKey(): Promise<string> {
  const stranger = await identityProvider();
  return stranger.sign(claims(), { jwk: stranger.jwks.keys[0], kid: "key-1" });
}

const rows: readonly Attack[] = [
  byToken("A stranger makes up a token of the right form", () => `tp_${"0".repeat(16)}_${"0".repeat(64)}`),
  byToken("A stranger knows a token but for its last letter", ({ tokens }) => bend(tokens.assistant)),
  byToken("A stranger sends half of a token", ({ tokens }) => tokens.assistant.slice(0, 40)),
  byToken("An attacker puts the id of the operator before their own secret", ({ tokens }) => {
    const [kind, id] = parts(tokens.admin);
    return [kind, id, parts(tokens.bob)[2]].join("_");
  }),
  byToken("A stranger sends the id of a credential alone", ({ credentialIds }) => `tp_${credentialIds.assistant}_`),
  byToken("A stranger sends a token in other case", ({ tokens }) => tokens.assistant.toUpperCase()),
  byToken("A stranger adds a letter to a token", ({ tokens }) => `${tokens.assistant}0`),
  attack({
    name: "A stranger sends the hash that the database stores in place of the secret",
    surface: "HTTP",
    async attack(world) {
      const { db } = world;
      const id = world.credentialIds.assistant;
      const found = await db.selectFrom("credentials").select("secret_hash").where("id", "=", id).executeTakeFirst();
      return reach(world, bearer(`tp_${id}_${found?.secret_hash ?? ""}`));
    },
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker sends the token of a credential that was revoked",
    surface: "HTTP",
    async prepare(world) {
      const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
      const made = await makeCredential(world, { namespaceId: "acme", access });
      await change(world, "credentials/revoke", { id: made.id });
      return made;
    },
    attack: (world, { token }) => reach(world, bearer(token)),
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker sends a token that expired",
    surface: "HTTP",
    prepare: (world) => {
      const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
      return makeCredential(world, { namespaceId: "acme", access, expiresAt: "2026-01-01T00:00:00Z" });
    },
    attack: (world, { token }) => reach(world, bearer(token)),
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker uses the token that a rotation replaced",
    surface: "HTTP",
    async prepare(world) {
      const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
      const old = await makeCredential(world, { namespaceId: "acme", access });
      const { token } = await change<{ token: string }>(world, "credentials/rotate", { id: old.id });
      world.secrets.add(token);
      return { old: old.token, token };
    },
    attack: (world, { old }) => reach(world, bearer(old)),
    held: refused,
    control: (world, { token }) => reach(world, bearer(token)),
    succeeds: goesIn,
  }),
  attack({
    name: "A stranger sends a good token by the Basic scheme",
    surface: "HTTP",
    attack: (world) => reach(world, { authorization: `Basic ${btoa(`assistant:${world.tokens.assistant}`)}` }),
    held: refused,
    ...own,
  }),
  attack({
    name: "A stranger sends a good token without a scheme",
    surface: "HTTP",
    attack: (world) => reach(world, { authorization: world.tokens.assistant }),
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker sends two authorization headers, of which a proxy would read the other",
    surface: "HTTP",
    attack: (world) =>
      raw(world, `GET /v1/reach HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAUTHConnection: close\r\n\r\n`),
    held: "400 invalid_request",
    control: (world) => raw(world, "GET /v1/reach HTTP/1.1\r\nHost: a\r\nAUTHConnection: close\r\n\r\n"),
    succeeds: "200",
  }),
  attack({
    name: "An attacker sends two tokens in one authorization header",
    surface: "HTTP",
    attack: (world) => reach(world, { authorization: `Bearer ${world.tokens.bob}, Bearer ${world.tokens.assistant}` }),
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker puts a token into the query, where logs and histories store it",
    surface: "HTTP",
    attack: (world) => reach(world, {}, `/v1/reach?access_token=${world.tokens.assistant}&authorization=Bearer`),
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker puts a token into a cookie and into x-forwarded headers",
    surface: "HTTP",
    attack: ({ tokens, ...world }) =>
      reach(
        { tokens, ...world },
        {
          cookie: `turnpike=${tokens.assistant}; authorization=Bearer ${tokens.assistant}`,
          "x-forwarded-user": "agent:assistant",
          "x-authorization": `Bearer ${tokens.assistant}`,
        },
      ),
    held: refused,
    ...own,
  }),
  attack({
    name: "An attacker claims a client certificate by the headers of a proxy",
    surface: "HTTP",
    attack: (world) =>
      reach(world, {
        "x-client-cert": "uri:spiffe://acme/assistant",
        "x-ssl-client-verify": "SUCCESS",
        "x-forwarded-client-cert": "URI=spiffe://acme/assistant",
      }),
    held: refused,
    ...own,
  }),
  attack({
    name: "A stranger tells by the answers which paths exist",
    surface: "HTTP",
    async attack(world) {
      const answers = await Promise.all(
        ["/v1/reach", "/v1/nothing", "/v1/turns/x", "/secret"].map((path) => http(world, path)),
      );
      return {
        says: [...new Set(answers.map(({ says }) => says))].join(", "),
        text: answers.map(({ text }) => text).join(),
      };
    },
    held: refused,
    control: (world) => http(world, "/v1/nothing", { as: "assistant" }),
    succeeds: "404 not_found",
  }),
  attack({
    name: "A stranger tells unknown, revoked and expired tokens apart by the answers",
    surface: "HTTP",
    async prepare(world) {
      const access = { actor: assistant, owner: alice, purposes: ["support"] };
      const revoked = await makeCredential(world, { namespaceId: "acme", access });
      await change(world, "credentials/revoke", { id: revoked.id });
      const expired = await makeCredential(world, { namespaceId: "acme", access, expiresAt: "2026-01-01T00:00:00Z" });
      return [revoked.token, expired.token, bend(expired.token), "tp_0000000000000000_00"];
    },
    async attack(world, tokens) {
      const told = await Promise.all(tokens.map((token) => reach(world, { ...bearer(token), "x-request-id": "same" })));
      const texts = new Set(told.map(({ text }) => text));
      return { says: `${texts.size} answer: ${told[0]?.says ?? ""}`, text: [...texts].join() };
    },
    held: `1 answer: ${refused}`,
    ...own,
  }),
  attack({
    name: "An attacker asks who they are with nothing, and with tokens that are unknown, revoked, expired or replaced",
    surface: "HTTP",
    async prepare(world) {
      const access = { actor: assistant, owner: alice, purposes: ["support"] };
      const [revoked, rotated] = [
        await makeCredential(world, { namespaceId: "acme", access }),
        await makeCredential(world, { namespaceId: "acme", access }),
      ];
      await change(world, "credentials/revoke", { id: revoked.id });
      const { token } = await change<{ token: string }>(world, "credentials/rotate", { id: rotated.id });
      world.secrets.add(token);
      const expired = await makeCredential(world, { namespaceId: "acme", access, expiresAt: "2026-01-01T00:00:00Z" });
      return { bad: [revoked.token, rotated.token, expired.token, bend(token)], token };
    },
    async attack(world, { bad }) {
      const asked = [{}, ...bad.map(bearer)].map((headers) => reach(world, headers, "/whoami"));
      return together(await Promise.all(asked));
    },
    held: `5 x ${refused}`,
    control: (world, { token }) => reach(world, bearer(token), "/whoami"),
    succeeds: "200",
  }),
  attack({
    name: "An attacker puts a token into the query or into a cookie to learn whose it is",
    surface: "HTTP",
    async attack(world) {
      const { assistant: token } = world.tokens;
      return together([
        await reach(world, {}, `/whoami?access_token=${token}`),
        await reach(world, { cookie: `turnpike=${token}; authorization=Bearer ${token}` }, "/whoami"),
      ]);
    },
    held: `2 x ${refused}`,
    control: (world) => http(world, "/whoami", { as: "assistant" }),
    succeeds: "200",
  }),
  byJwt("An attacker signs a JWT with nothing: `alg` is none", () => Promise.resolve(`${unsigned({ alg: "none" })}.`)),
  byJwt("An attacker signs a JWT with the public key as a shared secret: `alg` is HS256", signedByPublicKey),
  byJwt("An attacker brings their own key along in the header of a JWT", signedByOwnKey),
  byJwt("An attacker lets a JWT name the address of their own key set", async () =>
    (await identityProvider("ES256", "mine")).sign(claims(), { jku: "http://127.0.0.1:1/jwks", kid: "mine" }),
  ),
  byJwt("An attacker lets `kid` lead to a file that is no key", async () =>
    (await identityProvider()).sign(claims(), { kid: "../../../../dev/null" }),
  ),
  byJwt("An attacker sends a JWT that was issued for another audience", () => signed({ aud: "another-service" })),
  byJwt("An attacker sends a JWT of another issuer that the same key signed", () =>
    signed({ iss: "https://id.example.evil" }),
  ),
  byJwt("An attacker sends a JWT that expired", () => signed({ exp: inAnHour() - 7200 })),
  byJwt("An attacker sends a JWT that never expires", () => signed({ exp: undefined })),
  byJwt("An attacker sends a JWT that is not valid yet", () => signed({ nbf: inAnHour() })),
  byJwt("An attacker uses an ID token as an access token", () => signed({ at_hash: "x" })),
  byJwt("An attacker sends a JWT that is bound to a key, without the key", () => signed({ cnf: { jkt: "x" } })),
  byJwt("An attacker sends a JWT of another type that the same key signed", () => signed({}, { typ: "logout+jwt" })),
  byJwt("An attacker makes a JWT whose subject is two principals", () =>
    signed({ sub: ["agent:assistant", "human:alice"] }),
  ),
  byJwt("An attacker changes the claims of a JWT and leaves its signature", async () => {
    const [header, , signature] = (await signed()).split(".");
    return [header, encoded({ ...known, ...claims(), sub: "human:alice" }), signature].join(".");
  }),
  byJwt("An attacker has a JWT whose tenant is the operators' own", () => signed({ tenant: "operators" })),
  attack({
    name: "The bearer of a JWT claims in it to be an operator",
    surface: "HTTP",
    attack: async (world): Promise<Seen> =>
      reach(
        world,
        bearer(await signed({ admin: true, role: "admin", tenant: "operators" })),
        "/admin/v1/grants?namespaceId=acme",
      ),
    held: refused,
    control: (world) => http(world, "/admin/v1/grants?namespaceId=acme", { as: "admin" }),
    succeeds: "200",
  }),
];

export const authentication: Group = {
  name: "authentication",
  async open() {
    provider = await identityProvider();
    return openWorld({ config: { jwt: trusting(provider) } });
  },
  attacks: rows,
};
