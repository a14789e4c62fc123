import { copyFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connectSqlite, temporaryFolder } from "../../test/databases.ts";
import { auditEvent, access } from "../../test/records.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { openRuntimes } from "../turns/index.ts";
import { acceptLossOfFile } from "./accept-loss.ts";
import { startHost, type Host } from "./compose.ts";
import { loadConfig, type Config } from "./config.ts";
import { examine } from "./doctor.ts";

type FileConfig = Config & { database: string };

function settings(): FileConfig {
  const database = join(temporaryFolder(), "turnpike.db");
  const flags = {
    "listen.port": "0",
    database,
    "admin.tokenFile": "false",
    "audit.checkpointSeconds": "3600",
  };
  return { ...loadConfig({ env: {}, flags }), database };
}

async function start(config: Config): Promise<Host> {
  const host = await startHost(config, { log: recordingLog(), ...(await openRuntimes({ kind: "none" }, {})) });
  onTestFinished(() => host.close());
  return host;
}

let events = 0;

/** Starts a host, has it record so many events of a tenant, and stops it, which signs them. */
async function runOnce(config: Config, count: number): Promise<void> {
  const host = await start(config);
  for (let place = 0; place < count; place += 1)
    await host.stores.audit.record(auditEvent(`event-${(events += 1)}`, { namespaceId: "acme" }));
  await host.close();
}

/** A stopped host whose file is an older copy: of five signed rows of a tenant it has two. */
async function olderFile(): Promise<FileConfig> {
  const config = settings();
  const copy = `${config.database}.copy`;
  await runOnce(config, 2);
  copyFileSync(config.database, copy);
  await runOnce(config, 3);
  copyFileSync(copy, config.database);
  return config;
}

/** The starts of hosts that a file knows of. */
async function startsOn({ database }: FileConfig): Promise<unknown> {
  const db = connectSqlite(database);
  const starts = await db.selectFrom("hosts").selectAll().execute();
  await db.destroy();
  return starts;
}

const older =
  /is older than its signed checkpoints in \S+: at least \d+ rows of \d audit logs? are missing\. Nothing was changed\./;

test("an older file is not served, and not changed", async () => {
  const config = await olderFile();
  const before = await startsOn(config);
  await expect(start(config)).rejects.toThrow(older);
  await expect(start(config)).rejects.toThrow("turnpike database accept-loss --database");
  expect(await startsOn(config)).toEqual(before);
});

test("an older file is found by the doctor", async () => {
  const { database } = await olderFile();
  const findings = await examine({ env: {}, flags: { database, "listen.port": "0" } });
  expect(findings.filter(({ isOk }) => !isOk)).toMatchObject([
    { check: "database", says: expect.stringMatching(/^lost 3 rows that were acknowledged\./) },
  ]);
});

test("an empty file, and none, are not served beside checkpoints that know more, and none is made", async () => {
  const config = await olderFile();
  writeFileSync(config.database, "");
  await expect(start(config)).rejects.toThrow(older);
  rmSync(config.database);
  await expect(start(config)).rejects.toThrow(older);
  expect(existsSync(config.database)).toBe(false);
});

test("a file with all that was signed is served, and so is a first one without checkpoints", async () => {
  const config = settings();
  await runOnce(config, 1);
  await runOnce(config, 1);
  expect(await (await start(config)).stores.losses.listOpen()).toEqual([]);
});

test("a file whose loss an operator accepted is served, and the audit log of the operators says so", async () => {
  const config = await olderFile();
  const accepted = await acceptLossOfFile(config, false);
  const noticedAt = expect.any(String) as string;
  expect(accepted).toEqual({ noticedAt, lostRows: 3, tenants: 1, revokedCredentials: 0 });
  await runOnce(config, 3);
  const { stores } = await start(config);
  expect(await stores.losses.listOpen()).toEqual([]);
  const changes = await stores.audit.list("operators", { type: "operator.changed", limit: 20 });
  const said = changes.map(({ event }) => `${event.action} ${event.outcome}`);
  expect(said).toEqual(
    expect.arrayContaining([
      "database.went_back succeeded",
      "database.loss_accepted allowed",
      "database.loss_accepted succeeded",
    ]),
  );
});

test("accepting a loss once more changes nothing, and rows that are lost after it are missed again", async () => {
  const config = await olderFile();
  const copy = `${config.database}.copy`;
  await acceptLossOfFile(config, false);
  expect(await acceptLossOfFile(config, true)).toEqual({ lostRows: 0, tenants: 0, revokedCredentials: 0 });
  await runOnce(config, 1);
  copyFileSync(copy, config.database);
  await expect(start(config)).rejects.toThrow(/is older than its signed checkpoints/);
});

test("with the loss every token can be revoked", async () => {
  const config = settings();
  const first = await start(config);
  await first.stores.credentials.create({ namespaceId: "acme", access });
  await first.close();
  const copy = `${config.database}.copy`;
  copyFileSync(config.database, copy);
  await runOnce(config, 1);
  copyFileSync(copy, config.database);
  // That of the tenant, and the operator's.
  expect(await acceptLossOfFile(config, true)).toMatchObject({ revokedCredentials: 2 });
});
