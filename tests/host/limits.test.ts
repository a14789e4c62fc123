import { execFile } from "node:child_process";
import { get as getOverTls } from "node:https";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { databaseKinds } from "../../packages/host/test/databases.ts";
import { effectsIn, makeEffectTenant, openGate, placeFor, startEffectHost } from "../support/effect-host.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import { makeFolder, runTurnpike, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeTenant, turn } from "../support/host-world.ts";
import { exchange, open } from "../../packages/host/test/raw-http.ts";

describe("bodies", () => {
  let host: HostProcess;
  let token: string;
  beforeAll(async () => {
    host = await startHostProcess({
      folder: makeFolder(),
      args: ["serve", "--port", "0", "--set", "limits.bodyBytes=1000"],
    });
    token = await makeTenant(host);
  });
  const post = (path: string, headers: string, body: string) =>
    exchange(host.url, {
      send: `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${headers}\r\n${body}`,
    });
  const large = `"${"a".repeat(1500)}"`;
  const chunk = `${large.length.toString(16)}\r\n${large}\r\n`;

  for (const row of [
    { name: "that declares to be too large", headers: "Content-Length: 1001\r\n", body: "" },
    { name: "of chunks that add up to too much", headers: "Transfer-Encoding: chunked\r\n", body: `${chunk}0\r\n\r\n` },
    { name: "of chunks that never ends", headers: "Transfer-Encoding: chunked\r\n", body: chunk },
  ]) {
    for (const path of ["/v1/authorize", "/v1/tools/invoke"]) {
      test(`a body ${row.name} answers 413 on ${path} and the host closes`, async () => {
        const answer = await post(path, row.headers, row.body);
        expect(answer.statuses).toEqual([413]);
        expect(answer.text).toContain(
          '{"error":{"code":"payload_too_large","message":"A body has at most 1000 bytes."',
        );
        expect(answer.isClosed).toBe(true);
      });
    }
  }

  test("an operator's body that is too large answers 413 too", async () => {
    const answer = await ask(host.url, "/admin/v1/grants", { token: host.operatorToken(), body: large });
    expect(answer.status).toBe(413);
  });

  test("a body of exactly the limit is read", async () => {
    const body = `"${"a".repeat(998)}"`;
    const answer = await post("/v1/authorize", "Connection: close\r\nContent-Length: 1000\r\n", body);
    expect(answer.statuses).toEqual([400]);
    expect(answer.text).toContain('{"error":{"code":"invalid_request"');
  });

  test("a body that understates its length is refused with what follows it, and the host closes", async () => {
    const answer = await post("/v1/authorize", "Content-Length: 2\r\n", `[]${large}`);
    expect(answer.statuses).toEqual([400]);
    expect(answer.isClosed).toBe(true);
  });
});

test("more requests than a credential may send answer 429, for that credential alone", async () => {
  const folder = makeFolder();
  const before = await startEffectHost(folder);
  const calm = await makeEffectTenant(before);
  const tokens: string[] = [];
  for (let made = 0; made < 60; made += 1) tokens.push((await makeCredential(before)).token);
  await before.stop();
  const host = await startEffectHost(folder, { "limits.requestsPerSecond": "1", "limits.burst": "5" });
  const reach = (token: string) => ask(host.url, "/v1/reach", { token });
  // A second gives one request back, so seven behind the first have to come within one: a busy machine tries again.
  const burst = async (eager: string) => {
    const start = performance.now();
    await reach(eager);
    const answers: Answer[] = [];
    for (let sent = 0; sent < 7; sent += 1) answers.push(await reach(eager));
    return performance.now() - start < 1000 ? { eager, answers } : undefined;
  };
  let sent: Awaited<ReturnType<typeof burst>>;
  for (const token of tokens) sent ??= await burst(token);
  if (sent === undefined) throw new Error("No eight requests were answered within a second.");
  const { eager, answers } = sent;
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429, 429]);
  expect(answers.map(({ headers }) => headers.get("ratelimit")?.split(";", 2)[1])).toEqual([
    "r=3",
    "r=2",
    "r=1",
    "r=0",
    "r=0",
    "r=0",
    "r=0",
  ]);
  const refused = answers.at(-1);
  expect(refused?.headers.get("ratelimit")).toBe('"default";r=0;t=1');
  expect(refused?.headers.get("ratelimit-policy")).toBe('"default";q=5;w=5');
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect(refused?.body).toMatchObject({
    error: { code: "rate_limited", message: "Too many requests with this credential." },
  });
  expect((await reach(calm)).status).toBe(200);
  await eventually(async () => expect((await reach(eager)).status).toBe(200));
});

test("more turns than the host runs at once answer 503, take no id, and run later", async () => {
  const folder = makeFolder();
  const host = await startEffectHost(folder, {
    "limits.concurrentTurns": "3",
    "limits.tenantTurns": "3",
    "limits.credentialTurns": "3",
  });
  const token = await makeEffectTenant(host);
  const run = (id: string, accept = "application/json") =>
    ask(host.url, "/v1/turns", {
      token,
      headers: { "x-trace-id": "t", accept },
      body: turn(id, "t", { line: id, until: "gate" }),
    });
  const running = ["one", "two", "three"].map((id) => run(id));
  await eventually(() => expect(effectsIn(folder)).toHaveLength(3));
  for (const accept of ["application/json", "text/event-stream"]) {
    const refused = await run("four", accept);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.body).toMatchObject({ error: { code: "overloaded" } });
  }
  expect((await ask(host.url, "/v1/reach", { token })).status).toBe(200);
  openGate(folder, "gate");
  for (const answer of await Promise.all(running)) expect(answer.body).toMatchObject({ status: "succeeded" });
  expect((await run("four")).body).toMatchObject({ status: "succeeded" });
});

for (const kind of databaseKinds) {
  test(`on ${kind} one credential and one tenant leave turns to others`, async () => {
    const folder = makeFolder();
    const host = await startEffectHost(folder, { ...(await placeFor(kind)), "limits.concurrentTurns": "4" });
    const first = await makeEffectTenant(host);
    const { token: second } = await makeCredential(host);
    const elsewhere = await makeEffectTenant(host, { tenant: "globex" });
    const run = (token: string, id: string) =>
      ask(host.url, "/v1/turns", { token, headers: { "x-trace-id": "t" }, body: turn(id, "t", { until: "gate" }) });
    const refused = async (token: string, message: string) => {
      const answer = await run(token, "refused");
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.body).toMatchObject({ error: { code: "overloaded", message } });
    };
    const running = [run(first, "one"), run(first, "two")];
    await eventually(() => expect(effectsIn(folder)).toHaveLength(2));
    await refused(first, "This credential runs as many turns as it may.");
    running.push(run(second, "three"));
    await eventually(() => expect(effectsIn(folder)).toHaveLength(3));
    await refused(second, "This tenant runs as many turns as it may.");
    running.push(run(elsewhere, "four"));
    await eventually(() => expect(effectsIn(folder)).toHaveLength(4));
    await refused(elsewhere, "The host runs as many turns as it can.");
    openGate(folder, "gate");
    for (const answer of await Promise.all(running)) expect(answer.body).toMatchObject({ status: "succeeded" });
    expect((await run(first, "refused")).body).toMatchObject({ status: "succeeded" });
  });
}

test("an idle socket is closed", async () => {
  const args = ["serve", "--port", "0", "--set", "limits.idleMs=200", "--set", "limits.headersMs=500"];
  const { url } = await startHostProcess({ folder: makeFolder(), args });
  // A busy machine may take so long to read a request that its socket was idle before: then another one is asked.
  await eventually(async () => {
    const afterRequest = await exchange(url, { send: "GET /health HTTP/1.1\r\nHost: a\r\n\r\n" });
    expect([afterRequest.statuses, afterRequest.isClosed]).toEqual([[200], true]);
  });
  const silent = await exchange(url, { send: "" });
  expect(silent.isClosed).toBe(true);
});

test("a socket more than the host holds can ask for its health, and nothing else", async () => {
  const args = ["serve", "--port", "0", "--set", "limits.sockets=2"];
  const { url } = await startHostProcess({ folder: makeFolder(), args });
  const held = [open(url), open(url)];
  for (const socket of held) {
    socket.write("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
  }
  for (const path of ["/health", "/ready"]) {
    const third = await exchange(url, { send: `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n` });
    expect([third.statuses, third.isClosed]).toEqual([[200], true]);
  }
  const other = await exchange(url, { send: "GET /v1/reach HTTP/1.1\r\nHost: a\r\n\r\n" });
  expect([other.statuses, other.isClosed]).toEqual([[503], true]);
  for (const socket of held) socket.destroy();
  await eventually(async () => expect((await ask(url, "/v1/reach")).status).toBe(401));
});

describe("beyond loopback", () => {
  for (const address of ["0.0.0.0", "::"]) {
    test(`${address} without TLS is refused in words`, async () => {
      const { code, stdout, stderr } = await runTurnpike({
        folder: makeFolder(),
        args: ["serve", "--port", "0", "--host", address],
      });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toBe(
        `Listening on ${address} without TLS would show credentials to the network. ` +
          "Configure tls.certFile and tls.keyFile, or set listen.insecure when something in front terminates TLS.\n",
      );
    });
  }

  test("it listens when the operator insists", async () => {
    const args = ["serve", "--port", "0", "--host", "0.0.0.0", "--set", "listen.insecure=true"];
    const host = await startHostProcess({ folder: makeFolder(), args });
    expect((await ask(host.url, "/health")).status).toBe(200);
  });

  test("it listens with TLS, and speaks nothing else", async () => {
    const folder = makeFolder();
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const command =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    await promisify(execFile)("openssl", [...command.split(" "), "-keyout", key, "-out", cert]);
    const args = [
      "serve",
      "--port",
      "0",
      "--host",
      "0.0.0.0",
      "--set",
      `tls.certFile=${cert}`,
      "--set",
      `tls.keyFile=${key}`,
    ];
    const { url } = await startHostProcess({ folder, args });
    expect(url).toMatch(/^https:\/\/0\.0\.0\.0:\d+$/);
    expect(await health(url.replace("0.0.0.0", "localhost"), cert)).toEqual({
      status: 200,
      text: '{"status":"ok","protocolVersion":"1"}',
    });
    const plain = await exchange(url, { send: "GET /health HTTP/1.1\r\nHost: a\r\n\r\n" });
    expect(plain.statuses).not.toContain(200);
    expect(plain.isClosed).toBe(true);
  });
});

function health(url: string, caFile: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const request = getOverTls(`${url}/health`, { ca: readFileSync(caFile), agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    request.on("error", reject);
  });
}
