import { beforeAll, describe, expect, test } from "vitest";
import {
  askOverTls,
  type CertificateFiles,
  makeCertificate,
  type SentOverTls,
} from "../../packages/host/test/certificates.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";

const assistant = { kind: "agent", agentId: "assistant" };
const olga = { kind: "human", userId: "olga" };

interface World {
  host: HostProcess;
  servers: CertificateFiles;
  /** Whose certificate is issued by an authority that the host trusts. */
  agent: CertificateFiles;
  operator: CertificateFiles;
}

let world: World;

beforeAll(async () => {
  const folder = makeFolder();
  const servers = await makeCertificate(folder, "servers");
  const people = await makeCertificate(folder, "people");
  const own = await makeCertificate(folder, "own", { names: "DNS:localhost,IP:127.0.0.1", issuer: servers });
  const agent = await makeCertificate(folder, "agent", { names: "URI:spiffe://acme/assistant", issuer: people });
  const operator = await makeCertificate(folder, "operator", { names: "DNS:olga.acme.example", issuer: people });
  const settings = { ...own, clientCaFile: people.certFile };
  const tls = Object.entries(settings).flatMap(([key, value]) => ["--set", `tls.${key}=${value}`]);
  const host = await startHostProcess({ folder, args: ["serve", "--port", "0", ...tls] });
  world = { host, servers, agent, operator };
});

async function ask(path: string, sent: SentOverTls) {
  const { text, ...answer } = await askOverTls(new URL(path, world.host.url), sent, world.servers);
  return { ...answer, body: JSON.parse(text) as Record<string, string> };
}

async function makeCredential(namespaceId: string, access: object): Promise<string> {
  const { body } = await ask("/admin/v1/credentials", {
    token: world.host.operatorToken(),
    body: { namespaceId, access },
  });
  return body["token"] ?? "";
}

const statusOf = async (path: string, sent: SentOverTls): Promise<number> => (await ask(path, sent)).status;

describe("over TLS, a credential that names a client certificate", () => {
  test("admits an agent that shows the certificate, with the token and without, and no one else", async () => {
    const access = { actor: assistant, owner: olga, purposes: ["work"], certificate: "uri:spiffe://acme/assistant" };
    const token = await makeCredential("acme", access);
    const { agent, operator } = world;
    expect(await statusOf("/v1/tools", { client: agent })).toBe(200);
    expect(await statusOf("/v1/tools", { client: agent, token })).toBe(200);
    expect(await statusOf("/v1/tools", { token })).toBe(401);
    expect(await statusOf("/v1/tools", { client: operator, token })).toBe(401);
    expect(await statusOf("/v1/tools", { client: operator })).toBe(401);
    expect(await statusOf("/v1/tools", {})).toBe(401);
  });

  test("admits an operator, whose sessions and codes need the certificate too", async () => {
    const own = { actor: olga, owner: olga, purposes: ["operate"], admin: true, certificate: "dns:olga.acme.example" };
    const token = await makeCredential("operators", own);
    const client = world.operator;
    expect(await statusOf("/admin/v1/tenants", { client })).toBe(200);
    expect(await statusOf("/admin/v1/tenants", { token })).toBe(401);

    const begin = (sent: SentOverTls) => ask("/admin/v1/sessions", sent);
    expect((await begin({ body: { token } })).status).toBe(401);
    const { status, session } = await begin({ client, body: { token } });
    expect(status).toBe(201);
    expect(await statusOf("/admin/v1/session", { client, session })).toBe(200);
    expect(await statusOf("/admin/v1/session", { session })).toBe(401);

    const { code } = (await ask("/admin/v1/codes", { client, body: {} })).body;
    expect((await begin({ body: { code: code ?? "" } })).status).toBe(401);
    expect((await begin({ client, body: { code: code ?? "" } })).status).toBe(201);
  });
});
