import { randomUUID } from "node:crypto";
import { closeSync, createWriteStream, existsSync, openSync, rmSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import type { Command } from "commander";
import { ConfigError, isPostgres, putInPlace } from "../shared/index.ts";
import { downloadAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { type Report, withProgress } from "./progress.ts";

interface BackupFlags extends OperatorFlags {
  force?: boolean;
  stopped?: boolean;
}

/** `backup`. */
export function addBackupCommand(program: Command, show: Show): void {
  asOperator(
    program.command("backup"),
    "Copy the SQLite database of a host to a file that opens by itself, while the host goes on.",
    "turnpike backup turnpike-2026-01-31.db",
  )
    .argument("<file>", "the copy, which must not be there yet")
    .option("--force", "replace the file when it is there, once the new copy is whole")
    .option("--stopped", "the host is stopped: copy the file that --database names")
    .action(async (file: string, flags: BackupFlags) => {
      const made = await withProgress("Copying", (report) => backUp(file, flags, report), flags);
      const instant = made.newestAt === undefined ? "" : ` The newest event in it is of ${made.newestAt}.`;
      show(
        flags,
        made,
        `Copied ${sizeText(made.bytes)} to ${file}.${instant}\n` +
          "Keep the audit key and a copy of the checkpoints apart from it: see docs/guide/backup.md.",
      );
    });
}

/** Copies to a draft, checks that, and only then gives it its name. */
async function backUp(file: string, flags: BackupFlags, report: Report) {
  if (isPostgres(flags.database) && flags.stopped === true)
    throw new ConfigError(
      "--stopped is for an SQLite file. A PostgreSQL is copied with pg_dump, whether hosts run or not.",
    );
  if (existsSync(file) && flags.force !== true)
    throw new ConfigError(`${file} is there already. Name another file, or add --force to replace it.`);
  const draft = `${file}.${randomUUID()}.part`;
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
  try {
    closeSync(openSync(draft, "wx", 0o600));
    const bytes = await (flags.stopped === true
      ? copyStoppedHost(flags.database, draft)
      : download(flags, draft, interrupted.signal, report));
    const { checkBackup } = await import("../storage/index.ts");
    const { newestAt } = await checkBackup(draft, "quick", "What the host sent");
    putInPlace(draft, file, { isReplaced: flags.force === true });
    return { file, bytes, newestAt };
  } catch (error) {
    throw interrupted.signal.aborted ? new Error("Interrupted: no backup was made.", { cause: error }) : error;
  } finally {
    rmSync(draft, { force: true });
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

async function download(flags: BackupFlags, draft: string, signal: AbortSignal, report: Report): Promise<number> {
  const { headers, body } = await downloadAdmin(flags, "createBackup", {}, signal);
  const expected = Number(headers.get("content-length"));
  let bytes = 0;
  const count = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      report(`${sizeText(bytes)} of ${sizeText(expected)}`);
      yield chunk;
    }
  };
  try {
    await pipeline(Readable.fromWeb(body as ReadableStream<Uint8Array>), count, createWriteStream(draft), { signal });
  } catch (cause) {
    const { code = "" } = cause as { code?: string };
    if (code === "ENOSPC") throw new Error("The disk is full: no backup was made.", { cause });
    throw new Error("The copy broke off before its end: no backup was made. Is the host still there?", { cause });
  }
  if (bytes !== expected) throw new Error(`The host sent ${bytes} bytes of ${expected}: no backup was made.`);
  return bytes;
}

async function copyStoppedHost(database: string, draft: string): Promise<number> {
  if (!existsSync(database)) throw new ConfigError(`--database ${database}: there is no such file.`);
  const { copyStopped } = await import("../storage/index.ts");
  return copyStopped(database, draft);
}

function sizeText(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
