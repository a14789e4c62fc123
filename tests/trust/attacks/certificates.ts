import {
  askOverTls,
  type CertificateFiles,
  makeCertificate,
  type SentOverTls,
  type TlsSession,
} from "../../../packages/host/test/certificates.ts";
import { makeFolder } from "../../support/host-process.ts";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { alice, assistant, carol, openWorld, type World } from "./world.ts";

/** Who shows what. The stranger's has the name of the agent's, and is of an authority that the host does not trust. */
interface Shown {
  servers: CertificateFiles;
  agent: CertificateFiles;
  operator: CertificateFiles;
  visitor: CertificateFiles;
  stranger: CertificateFiles;
}

let shown: Shown;
/** The tokens of an agent and of an operator who have a certificate. */
let tokens: Record<"agent" | "operator", string>;

async function tls(
  { url }: Pick<World, "url">,
  path: string,
  sent: SentOverTls,
): Promise<Seen & { session: TlsSession }> {
  const { status, text, session } = await askOverTls(new URL(path, url), sent, shown.servers);
  const [, code = ""] = /"error":\{"code":"(\w+)"/.exec(text) ?? [];
  return { says: `${status} ${code}`.trim(), text, session };
}

const reach = (world: World, sent: SentOverTls) => tls(world, "/v1/reach", sent);
const refused = "401 unauthenticated";

/** A request without the right certificate, beside one with it. */
function without(name: string, sent: () => SentOverTls): Attack {
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => reach(world, sent()),
    held: refused,
    control: (world) => reach(world, { client: shown.agent, token: tokens.agent }),
    succeeds: "200",
  });
}

const rows: readonly Attack[] = [
  without("A thief uses a token that is bound to a certificate, without it", () => ({ token: tokens.agent })),
  without("A thief uses a bound token with the certificate of another party", () => ({
    client: shown.operator,
    token: tokens.agent,
  })),
  without("An attacker shows a trusted certificate that no credential names", () => ({ client: shown.visitor })),
  without("An attacker says by headers which certificate they showed", () => ({
    token: tokens.agent,
    headers: { "x-forwarded-client-cert": "URI=spiffe://acme/assistant", "ssl-client-subject-dn": "CN=agent" },
  })),
  without("An attacker shows the right certificate and a token that was never issued", () => ({
    client: shown.agent,
    token: "tp_0_0",
  })),
  attack({
    name: "An attacker shows a certificate of the right name from an authority that the host does not trust",
    surface: "HTTP",
    attack: (world) => reach(world, { client: shown.stranger }).catch(() => ({ says: "no connection", text: "" })),
    held: refused,
    control: (world) => reach(world, { client: shown.agent }),
    succeeds: "200",
  }),
  attack({
    name: "A page of another site has the browser show the certificate",
    surface: "HTTP",
    attack: (world) => reach(world, { client: shown.agent, headers: { "sec-fetch-site": "cross-site" } }),
    held: "403 permission_denied",
    control: (world) => reach(world, { client: shown.agent, headers: { "sec-fetch-site": "same-origin" } }),
    succeeds: "200",
  }),
  attack({
    name: "A page of another origin has the browser show the certificate for a change",
    surface: "HTTP",
    attack: (world) =>
      tls(world, "/v1/authorize", { client: shown.agent, headers: { origin: "https://evil.example" }, body: question }),
    held: "403 permission_denied",
    control: (world) =>
      tls(world, "/v1/authorize", {
        client: shown.agent,
        headers: { origin: new URL(world.url).origin },
        body: question,
      }),
    succeeds: "200",
  }),
  attack({
    name: "A thief signs in with an operator's token that is bound to a certificate",
    surface: "console",
    attack: (world) => tls(world, "/admin/v1/sessions", { body: { token: tokens.operator } }),
    held: refused,
    control: (world) => tls(world, "/admin/v1/sessions", { client: shown.operator, body: { token: tokens.operator } }),
    succeeds: "201",
  }),
  attack({
    name: "A thief uses the cookie of such an operator without the certificate",
    surface: "console",
    async prepare(world) {
      const { session } = await tls(world, "/admin/v1/sessions", {
        client: shown.operator,
        body: { token: tokens.operator },
      });
      world.secrets.add(session.cookie.split("=")[1] ?? "");
      world.secrets.add(session.page);
      return session;
    },
    attack: (world, session) => tls(world, "/admin/v1/session", { session }),
    held: refused,
    control: (world, session) => tls(world, "/admin/v1/session", { session, client: shown.operator }),
    succeeds: "200",
  }),
  attack({
    name: "A site without TLS sets the cookie of the session for this one",
    surface: "console",
    async prepare(world) {
      const { session } = await tls(world, "/admin/v1/sessions", {
        client: shown.operator,
        body: { token: tokens.operator },
      });
      world.secrets.add(session.cookie.split("=")[1] ?? "");
      world.secrets.add(session.page);
      return session;
    },
    attack: (world, { cookie, page }) =>
      tls(world, "/admin/v1/session", { session: { cookie: cookie.replace("__Host-", ""), page } }),
    held: refused,
    control: (world, session) => tls(world, "/admin/v1/session", { session, client: shown.operator }),
    succeeds: "200",
  }),
];

const question = { action: "read", resource: { namespace: "files", path: ["notes"] } };

async function makeShown(folder: string): Promise<Shown & { people: CertificateFiles; own: CertificateFiles }> {
  const [servers, people, strangers] = [
    await makeCertificate(folder, "servers"),
    await makeCertificate(folder, "people"),
    await makeCertificate(folder, "strangers"),
  ];
  const named = { names: "URI:spiffe://acme/assistant" };
  return {
    servers,
    people,
    own: await makeCertificate(folder, "own", { names: "DNS:localhost,IP:127.0.0.1", issuer: servers }),
    agent: await makeCertificate(folder, "agent", { ...named, issuer: people }),
    operator: await makeCertificate(folder, "operator", { names: "DNS:carol.acme.example", issuer: people }),
    visitor: await makeCertificate(folder, "visitor", { names: "DNS:visitor.acme.example", issuer: people }),
    stranger: await makeCertificate(folder, "stranger", { ...named, issuer: strangers }),
  };
}

export const certificates: Group = {
  name: "client certificates",
  async open() {
    const { own, people, ...made } = await makeShown(makeFolder());
    shown = made;
    const world = await openWorld({
      config: { tls: { ...own, clientCaFile: people.certFile } },
      health: async (url) => (await askOverTls(new URL("/health", url), {}, made.servers)).status,
    });
    const { create } = world.host.stores.credentials;
    const agent = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
    const operator = { actor: carol, owner: carol, purposes: ["operate"], admin: true };
    const [one, two] = [
      await create({ namespaceId: "acme", access: { ...agent, certificate: "uri:spiffe://acme/assistant" } }),
      await create({ namespaceId: "operators", access: { ...operator, certificate: "dns:carol.acme.example" } }),
    ];
    tokens = { agent: one.token, operator: two.token };
    for (const token of Object.values(tokens)) world.secrets.add(token);
    return world;
  },
  attacks: rows,
};
