import { request } from "node:https";
import { beforeAll, describe, expect, test } from "vitest";
import { type CertificateFiles, clientOf, makeCertificate } from "../../packages/host/test/certificates.ts";
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

interface Sent {
  client?: CertificateFiles;
  token?: string;
  cookie?: string;
  body?: object;
}

/** Sends a request over a connection of its own. */
function ask(path: string, { client, token, cookie, body }: Sent) {
  const url = new URL(path, world.host.url);
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(cookie !== undefined && { cookie, "x-turnpike-console": "1" }),
    ...(body && { "content-type": "application/json" }),
  };
  const options = { method: body ? "POST" : "GET", headers, agent: false, ...clientOf(client, world.servers) };
  return new Promise<{ status: number; cookie: string; body: Record<string, string> }>((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      const made = response.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
      response.on("end", () => resolve({ status: response.statusCode ?? 0, cookie: made, body: JSON.parse(text) }));
    });
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}

async function makeCredential(namespaceId: string, access: object): Promise<string> {
  const { body } = await ask("/admin/v1/credentials", {
    token: world.host.operatorToken(),
    body: { namespaceId, access },
  });
  return body["token"] ?? "";
}

const statusOf = async (path: string, sent: Sent): Promise<number> => (await ask(path, sent)).status;

describe("over TLS, a credential that names a client certificate", () => {
  test("admits an agent that shows the certificate, with the token and without, and nobody else", async () => {
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

    const begin = (sent: Sent) => ask("/admin/v1/sessions", sent);
    expect((await begin({ body: { token } })).status).toBe(401);
    const { status, cookie } = await begin({ client, body: { token } });
    expect(status).toBe(201);
    expect(await statusOf("/admin/v1/session", { client, cookie })).toBe(200);
    expect(await statusOf("/admin/v1/session", { cookie })).toBe(401);

    const { code } = (await ask("/admin/v1/codes", { client, body: {} })).body;
    expect((await begin({ body: { code: code ?? "" } })).status).toBe(401);
    expect((await begin({ client, body: { code: code ?? "" } })).status).toBe(201);
  });
});
