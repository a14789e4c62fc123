import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { newLocation } from "../../../packages/host/test/databases.ts";
import { makeFolder } from "../../support/host-process.ts";
import { type Image, makeImage } from "../../support/image.ts";
import { canIsolate, newVolume, runImage } from "../../support/read-only-root.ts";
import { repository } from "../../support/repository.ts";
import { deployment, readCompose, readUnit } from "./manifests.ts";

const insecure = { TURNPIKE_LISTEN_INSECURE: "true" };

// There is no container engine here. What the Containerfile says is done in a folder, and what it starts is started for real,
// with that folder in place, everything else read-only, and a user without privileges.
describe.runIf(canIsolate)("what the image runs", () => {
  let image: Image;
  beforeAll(() => {
    const folder = makeFolder();
    chmodSync(folder, 0o755);
    image = makeImage(join(repository, "deploy/Containerfile"), folder);
  });

  test("serves on a read-only file system, is healthy, and keeps all it writes on the volume", async () => {
    const volume = newVolume(image);
    const container = runImage(image, { volume, env: insecure, isAlone: true });
    expect(await container.started).toMatch(/:8787$/);
    expect(await container.exec(image.healthcheck)).toEqual({ code: 0, stdout: "", stderr: "" });
    expect((await container.exec(["touch", "/opt/turnpike/new", "/tmp/new", "/etc/new"])).stderr).toMatch(/Read-only/);
    expect((await container.exec(["id", "-u"])).stdout).toBe("1000\n");
    // The commands find the operator's token on the volume.
    expect(await container.exec(["turnpike", "credential", "list"])).toMatchObject({ code: 0, stderr: "" });
    expect(statSync(join(volume, ".turnpike/admin-token")).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(volume, ".turnpike"))).toEqual(
      expect.arrayContaining(["admin-token", "audit-key.pem", "turnpike.db"]),
    );
    expect(await container.stop()).toBe(0);
  });

  test("is unhealthy when no one answers", async () => {
    const sleeper = runImage(image, {
      command: ["sh", "-c", "echo Turnpike runs at nowhere; exec sleep 600"],
      isAlone: true,
    });
    await sleeper.started;
    expect((await sleeper.exec(image.healthcheck)).code).toBe(1);
  });

  test("refuses to listen for others without TLS until it is told so", async () => {
    const container = runImage(image, { isAlone: true });
    expect(await container.ended).toBe(2);
    expect(container.output()).toContain("listen.insecure");
  });

  test("listens for others with a certificate, and is healthy then too", async () => {
    const secrets = makeFolder();
    chmodSync(secrets, 0o755);
    const [certificate, key] = ["chain.pem", "key.pem"].map((name) => join(secrets, name));
    const made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=gate.example.com";
    execFileSync("openssl", [...made.split(" "), "-keyout", key ?? "", "-out", certificate ?? ""], { stdio: "pipe" });
    chmodSync(key ?? "", 0o644);
    const env = {
      TURNPIKE_TLS_CERT_FILE: "/run/secrets/chain.pem",
      TURNPIKE_TLS_KEY_FILE: "/run/secrets/key.pem",
    };
    const container = runImage(image, { env, secrets, isAlone: true });
    expect(await container.started).toMatch(/^https:.*:8787$/);
    expect(await container.exec(image.healthcheck)).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("holds no package that only developers need, and no source maps", () => {
    const names = readdirSync(join(image.folder, "opt/turnpike"), { recursive: true, encoding: "utf8" });
    expect(
      names.filter((name) => /\.map$|\.d\.[mc]?ts$|node_modules\/(vitest|typescript|vite|yaml)$/.test(name)),
    ).toEqual([]);
    expect(names).toContain("packages/host/dist/console/index.html");
  });

  test("starts as the compose file says, with the password from a file", async () => {
    const [user = "", , url] = await postgres();
    const secrets = makeFolder();
    chmodSync(secrets, 0o755);
    writeFileSync(join(secrets, "postgres-password"), `${decodeURIComponent(url.password)}\n`);
    const { entrypoint, command, environment } = readCompose().services.turnpike;
    // Compose makes one dollar of two. Only where the database is differs here.
    const script = command.join(" ").replaceAll("$$", "$");
    const moved = script
      .replace("//turnpike:", `//${user}:`)
      .replace("@postgres:5432/turnpike", `@${url.host}${url.pathname}`);
    expect(moved).not.toBe(script);
    const container = runImage(image, {
      command: [...entrypoint, moved],
      env: { ...environment, TURNPIKE_LISTEN_PORT: "0" },
      secrets,
    });
    expect((await fetch(`${here(await container.started)}/ready`)).status).toBe(200);
    expect(container.output()).not.toContain(`:${url.password}@`);
    expect(await container.stop()).toBe(0);
  });

  test("runs twice as the Deployment says, on one PostgreSQL, and both answer their probes", async () => {
    const [, database] = await postgres();
    const secrets = makeFolder();
    chmodSync(secrets, 0o755);
    mkdirSync(join(secrets, "turnpike"), { mode: 0o755 });
    writeFileSync(join(secrets, "turnpike/audit-key.pem"), newKey(), { mode: 0o444 });
    const { env, probes } = deployment();
    const pods = ["one", "two"].map(() =>
      runImage(image, { env: { ...env, TURNPIKE_DATABASE: database, TURNPIKE_LISTEN_PORT: "0" }, secrets }),
    );
    const [one, two] = pods;
    for (const pod of pods) {
      const url = here(await pod.started);
      for (const { path } of probes) expect((await fetch(url + path)).status).toBe(200);
    }
    expect([one, two].map((pod) => pod?.output().match(/export TURNPIKE_ADMIN_TOKEN=tp_/g)?.length ?? 0)).toContain(1);
    for (const pod of pods) expect(await pod.stop()).toBe(0);
  });

  test("is what the systemd unit starts, in its folder and with its variables", async () => {
    const unit = readUnit();
    const [program, ...rest] = (unit["ExecStart"] ?? "").split(" ");
    expect(program).toBe("/usr/bin/node");
    const env = Object.fromEntries((unit["Environment"] ?? "").split(" ").map((text) => text.split("=")));
    expect(unit["WorkingDirectory"]).toBe(image.workingFolder);
    const service = runImage({ ...image, env: {} }, { command: ["node", ...rest], env, isAlone: true });
    expect(await service.started).toBe("http://127.0.0.1:8787");
    expect((await service.exec(["node", "/opt/turnpike/healthcheck.js"])).code).toBe(0);
    expect(await service.stop()).toBe(0);
  });
});

/** A new database: its user, its URL, and that in parts. */
async function postgres(): Promise<[string, string, URL]> {
  const database = await newLocation("postgres");
  const url = new URL(database);
  return [url.username, database, url];
}

/** A host that listens everywhere, as it is reached from here. */
function here(url: string): string {
  return url.replace("0.0.0.0", "127.0.0.1");
}

function newKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
