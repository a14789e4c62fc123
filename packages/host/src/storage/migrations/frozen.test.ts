import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Migration } from "./migration.ts";
import { postgresMigrations } from "./postgres.ts";
import { numberOf } from "../schema-epoch.ts";
import { sqliteMigrations } from "./sqlite.ts";

/** What was released, as hashes of its text. A new migration gets a new line; no line ever changes. */
const frozen = {
  sqlite: [
    "0001-kernel-stores 673638298c3feb79",
    "0002-files 8d2ea230c46bea37",
    "0003-file-history 9221e926dfa36bb7",
    "0004-messages e73fe63e3c0a0518",
    "0005-escalations 7daab8ad9fd83ae3",
    "0006-replay-actors-and-revocations 2c4ccdb8b94701c1",
    "0007-limits a6167d90bfb67b1a",
    "0008-replay-claims 211d0f393f12a770",
    "0009-audit-strands d63192e9970efe09",
    "0010-read-indexes 25f4c6323b8cd33a",
    "0011-retention 5c4e3f922a22a2de",
    "0012-turns b3848153ccd949c7",
    "0013-permits 8bc0ce284a6ccd30",
    "0014-turn-questions e8b1ce84f1c41cf3",
    "0015-outbox 326f07d539e973b1",
    "0016-mcp-pins 067c7aa817464053",
    "0017-sessions 5f42f90e6bdd587f",
    "0018-credential-actors ab3109690e567c69",
    "0019-credential-certificates e63e3cf2db828ce8",
    "0020-grant-ends 3a6a79b1cad24243",
    "0021-shared-entry-rows e3b0c44298fc1c14",
    "0022-session-halves 7db91d9e05eac02f",
    "0023-answers d91688b630fd622b",
    "0024-open-turns a7e7cf50ac234064",
    "0025-webhook-history 4ff15d21099f8557",
    "0026-withdrawn-tools 1fd5b1c06f39669f",
    "0027-closed-questions ce701ff4c17ab589",
    "0028-tried-turns 4ec76183393900d2",
    "0029-host-leases e3b0c44298fc1c14",
    "0030-host-beats e6fcc8a0ec732a4d",
    "0031-schema-epoch 2bf7a27ecf724980",
    "0032-database-gaps a14f0c17436052fe",
    "0033-acts d7e6895322134149",
    "0034-invariants e259a2e5d96a0322",
    "0035-people 3b9f5620867681f8",
    "0036-waiting-acts 2469d78fc3c85c5b",
    "0037-connections 9e69ab5f52efc7a5",
    "0038-session-ends a83e81ce1e2ecfe9",
  ],
  postgres: [
    "0001-kernel-stores ed0a4198b2c7b8da",
    "0002-files 6bd01171accda043",
    "0003-file-history b4f3632ec96e4726",
    "0004-messages fa575f7fc3bc9a4b",
    "0005-escalations ff9758876bd66cce",
    "0006-replay-actors-and-revocations 32b7ccedce12feed",
    "0007-limits a6167d90bfb67b1a",
    "0008-replay-claims 211d0f393f12a770",
    "0009-audit-strands 324afcaf19766f2d",
    "0010-read-indexes 75e81bbf5be75541",
    "0011-retention 5c4e3f922a22a2de",
    "0012-turns b3848153ccd949c7",
    "0013-permits 8bc0ce284a6ccd30",
    "0014-turn-questions e8b1ce84f1c41cf3",
    "0015-outbox 43e2c2621f6c7f06",
    "0016-mcp-pins 067c7aa817464053",
    "0017-sessions 5f42f90e6bdd587f",
    "0018-credential-actors ab3109690e567c69",
    "0019-credential-certificates e63e3cf2db828ce8",
    "0020-grant-ends 3a6a79b1cad24243",
    "0021-shared-entry-rows e3b0c44298fc1c14",
    "0022-session-halves 7db91d9e05eac02f",
    "0023-answers d91688b630fd622b",
    "0024-open-turns 0a120153dbe95989",
    "0025-webhook-history 29e7779ea1a3071f",
    "0026-withdrawn-tools 1fd5b1c06f39669f",
    "0027-closed-questions ce701ff4c17ab589",
    "0028-tried-turns 4ec76183393900d2",
    "0029-host-leases c17f9a8a3bffdaf6",
    "0030-host-beats e24c441d9f7efae8",
    "0031-schema-epoch 61763af0614637e5",
    "0032-database-gaps a14f0c17436052fe",
    "0033-acts d7e6895322134149",
    "0034-invariants e259a2e5d96a0322",
    "0035-people a11aed767d733fa6",
    "0036-waiting-acts 2469d78fc3c85c5b",
    "0037-connections 9e69ab5f52efc7a5",
    "0038-session-ends a83e81ce1e2ecfe9",
  ],
};

function textsOf(migrations: readonly Migration[]): string[] {
  return migrations.map(({ name, statements, appliedWhen = "" }) => {
    const text = [...statements.map((statement) => (typeof statement === "string" ? statement : "")), appliedWhen];
    return `${name} ${createHash("sha256").update(text.join("\n")).digest("hex").slice(0, 16)}`;
  });
}

for (const { kind, migrations } of [
  { kind: "sqlite", migrations: sqliteMigrations },
  { kind: "postgres", migrations: postgresMigrations },
] as const) {
  test(`a released migration of ${kind} is never changed, and a new one comes last`, () => {
    expect(textsOf(migrations)).toEqual(frozen[kind]);
  });
}

test("migrations are numbered, and both databases agree which ones the version before may serve beside", () => {
  const said = (migrations: readonly Migration[]) =>
    migrations.map(({ name, allowsPrevious }) => `${name.slice(0, 4)} ${String(allowsPrevious)}`);
  expect(said(sqliteMigrations)).toEqual(said(postgresMigrations));
  expect(postgresMigrations.map(numberOf)).toEqual(postgresMigrations.map((_, place) => place + 1));
});

test("migrations import nothing from the rooms of the host or from the library", () => {
  for (const file of [
    "fill-actors.ts",
    "fill-answers.ts",
    "fill-ends.ts",
    "fill-parents.ts",
    "mark-revoked.ts",
    "migration.ts",
    "sqlite.ts",
    "postgres.ts",
    "move-files.ts",
    "move-turns.ts",
  ]) {
    const source = readFileSync(new URL(file, import.meta.url), "utf8");
    const imported = [...source.matchAll(/ from "(.*)"/g)].map(([, from]) => from);
    expect(imported.filter((from) => !/^(kysely|node:crypto|\.\/[\w-]+\.ts)$/.test(from ?? ""))).toEqual([]);
  }
});
