import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createCheckpoints, openSigningKey } from "../src/audit/index.ts";
import { auditRetention } from "../src/retention/audit-retention.ts";
import type { RunStep } from "../src/retention/retention.ts";
import type { Database } from "../src/storage/index.ts";
import { temporaryFolder } from "./databases.ts";
import { recordingLog } from "./recording-log.ts";
import { auditEvent } from "./records.ts";
import { auditStoreOf } from "./single-stores.ts";

export const archiveTime: Date = new Date("2026-06-01T10:00:00.000Z");
export const beforeRetention = "2026-01-01T00:00:00.000Z";
export const straight: RunStep = (work) => work();

/** Ways to fill audit logs on a database, to age them, and to read what is left and what was exported. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as written below
export function openArchive(database: Database, folder = temporaryFolder()) {
  const key = openSigningKey(join(folder, "key.pem"));
  const audit = auditStoreOf(database);
  const log = recordingLog();
  const exports = join(folder, "exports");
  const checkpoints = createCheckpoints({
    file: join(folder, `checkpoints-${database.hostId}.jsonl`),
    key,
    audit,
    database,
    log: recordingLog(),
    clock: () => archiveTime,
  });
  const task = auditRetention({ database, audit, checkpoints, key, folder: exports, log }, 30);
  const fill = async (namespaceId: string, at: string, count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, (_, place) => audit.record(auditEvent(`${at} ${place}`, { namespaceId, at }))),
    );
  };
  const files = (): string[] => readdirSync(exports, { withFileTypes: true }).map(({ name }) => join(exports, name));
  const rowsIn = (file: string): number[] =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line) => (line.includes('"event"') ? (JSON.parse(line) as { sequence: number }).sequence : []));
  const retained = async (namespaceId: string): Promise<number[]> => {
    const rows = database.db.selectFrom("audit").select("sequence").where("namespace_id", "=", namespaceId);
    return (await rows.orderBy("sequence").execute()).map(({ sequence }) => sequence);
  };
  const why = async (namespaceId: string): Promise<string | undefined> => {
    const { anchors, broken } = await audit.readAnchors(namespaceId, key);
    return (broken ?? (await audit.verify(namespaceId, { anchors })).broken)?.why;
  };
  return { database, key, audit, checkpoints, log, folder, exports, task, fill, files, rowsIn, retained, why };
}
