import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type CertificateFiles, clientOf, makeCertificate } from "../../test/certificates.ts";
import { patience } from "../../test/host-calls.ts";
import { loadConfig } from "../compose/config.ts";
import { startServer } from "./node-server.ts";

const folder = mkdtempSync(join(tmpdir(), "turnpike-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));

const certificates: Record<string, CertificateFiles> = {};
/** One of the certificates below. */
function of(name: string): CertificateFiles {
  const files = certificates[name];
  if (files === undefined) throw new Error(`There is no certificate ${name}.`);
  return files;
}

beforeAll(async () => {
  for (const name of ["servers", "agents", "strangers"]) certificates[name] = await makeCertificate(folder, name);
  for (const name of ["first", "second"])
    certificates[name] = await makeCertificate(folder, name, { names: "DNS:localhost", issuer: of("servers") });
  for (const [name, issuer] of [
    ["agent", "agents"],
    ["stranger", "strangers"],
  ] as const)
    certificates[name] = await makeCertificate(folder, name, {
      names: `URI:spiffe://acme/${name}`,
      issuer: of(issuer),
    });
});

const live = { certFile: join(folder, "live.pem"), keyFile: join(folder, "live.key") };
const clientCaFile = join(folder, "live-ca.pem");

function install(name: string): void {
  copyFileSync(of(name).certFile, live.certFile);
  copyFileSync(of(name).keyFile, live.keyFile);
}

beforeEach(() => {
  install("first");
  copyFileSync(of("agents").certFile, clientCaFile);
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
});

/** A server that answers with the names of the certificate that it was shown. */
async function serve(tls: Record<string, string> = {}) {
  const told: string[] = [];
  const settings = { ...live, ...tls };
  const flags = Object.fromEntries(Object.entries(settings).map(([key, value]) => [`tls.${key}`, value]));
  const config = loadConfig({ file: undefined, env: {}, flags: { "listen.port": "0", ...flags } });
  const { url, close } = await startServer(
    config,
    ({ headers }) =>
      Promise.resolve({
        status: 200,
        headers: {},
        body: JSON.stringify(headers.certificate?.names.slice(1) ?? "none"),
      }),
    {
      onRefused: () => {},
      tls: { onReload: () => void told.push("renewed"), onError: (error) => void told.push(String(error)) },
    },
  );
  onTestFinished(close);
  const { port } = new URL(url);
  /** Lets time pass until something comes of reading the files. */
  const reload = async (): Promise<void> => {
    const before = told.length;
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(10_000);
      expect(told.length).toBeGreaterThan(before);
    }, patience);
  };
  return { port: Number(port), told, reload };
}

/** Asks the server over a connection of its own or of the agent's, and says whose certificate the server had. */
function ask(port: number, client?: CertificateFiles, agent?: Agent): Promise<{ server: string; body: string }> {
  const options = { host: "127.0.0.1", servername: "localhost", port, ...clientOf(client, of("servers")) };
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, agent: agent ?? false }, (response) => {
      const server = (response.socket as TLSSocket).getPeerCertificate().subject?.CN as string;
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => (body += part));
      response.on("end", () => resolve({ server, body }));
    });
    sent.on("error", reject).end();
  });
}

describe("a certificate that is renewed", () => {
  test("is in force for the next connection, without a restart, and those that are open go on", async () => {
    const { port, told, reload } = await serve();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    expect((await ask(port, undefined, agent)).server).toBe("first");
    install("second");
    await reload();
    expect(told).toEqual(["renewed"]);
    expect((await ask(port)).server).toBe("second");
    expect((await ask(port, undefined, agent)).server).toBe("first");
  });

  test("is not in force while it does not belong to the key, or is none: the one before stays, and that is said once", async () => {
    const { port, told, reload } = await serve();
    copyFileSync(of("second").certFile, live.certFile);
    await reload();
    expect(told).toHaveLength(1);
    for (let time = 0; time < 20; time += 1) await Promise.all([vi.advanceTimersByTimeAsync(10_000), ask(port)]);
    writeFileSync(live.certFile, "half a cert");
    await reload();
    expect((await ask(port)).server).toBe("first");
    expect(told).toHaveLength(2);
    install("second");
    await reload();
    expect([told.at(-1), (await ask(port)).server]).toEqual(["renewed", "second"]);
  });
});

describe("a client certificate", () => {
  test("is known by its names when its authority is trusted, and counts for nothing otherwise", async () => {
    const { port } = await serve({ clientCaFile });
    expect((await ask(port, of("agent"))).body).toBe('["uri:spiffe://acme/agent"]');
    expect((await ask(port, of("stranger"))).body).toBe('"none"');
    expect((await ask(port)).body).toBe('"none"');
  });

  test("counts for nothing where none are trusted", async () => {
    const { port } = await serve();
    expect((await ask(port, of("agent"))).body).toBe('"none"');
  });

  test("may be required: nothing is answered without one that is trusted", async () => {
    const { port } = await serve({ clientCaFile, clientCertificates: "required" });
    expect((await ask(port, of("agent"))).body).toBe('["uri:spiffe://acme/agent"]');
    await expect(ask(port)).rejects.toThrow(/certificate|ECONNRESET|hang up/);
    await expect(ask(port, of("stranger"))).rejects.toThrow(/certificate|ECONNRESET|hang up/);
  });

  test("of an authority that is no longer trusted counts for nothing, over open connections too", async () => {
    const { port, reload } = await serve({ clientCaFile });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    expect((await ask(port, of("agent"), agent)).body).toBe('["uri:spiffe://acme/agent"]');
    copyFileSync(of("strangers").certFile, clientCaFile);
    await reload();
    await vi.waitFor(async () => expect((await ask(port, of("agent"), agent)).body).toBe('"none"'), patience);
    expect((await ask(port, of("stranger"))).body).toBe('["uri:spiffe://acme/stranger"]');
  });

  test("of an authority that is no longer trusted does not come back with a session that was cached", async () => {
    const { port, reload } = await serve({ clientCaFile });
    const options = { host: "127.0.0.1", servername: "localhost", port, ...clientOf(of("agent"), of("servers")) };
    const speak = (session?: Buffer) =>
      new Promise<{ body: string; session?: Buffer }>((resolve, reject) => {
        let [text, latest]: [string, Buffer | undefined] = ["", undefined];
        const socket = connect({ ...options, ...(session && { session }) }, () =>
          socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        );
        socket.on("session", (next: Buffer) => (latest = next));
        socket.setEncoding("utf8").on("data", (part: string) => (text += part));
        socket
          .on("error", reject)
          .on("end", () => resolve({ body: text.split("\r\n\r\n")[1] ?? "", ...(latest && { session: latest }) }));
      });
    const first = await speak();
    expect(first.body).toBe('["uri:spiffe://acme/agent"]');
    expect((await speak(first.session)).body).toBe('["uri:spiffe://acme/agent"]');
    copyFileSync(of("strangers").certFile, clientCaFile);
    await reload();
    expect((await speak(first.session)).body).toBe('"none"');
  });
});
