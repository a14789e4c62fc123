import type { Command } from "commander";
import type { RestoreReport } from "../compose/index.ts";
import type { Show } from "./connection.ts";
import { withProgress } from "./progress.ts";

interface RestoreFlags {
  config?: string;
  database?: string;
  checkpoint?: string;
  force?: boolean;
  revokeCredentials?: boolean;
  acceptBrokenTrail?: boolean;
  json?: boolean;
}

/** `restore`. */
export function addRestoreCommand(program: Command, show: Show): void {
  program
    .command("restore")
    .description("Check a backup, and make it the SQLite database of a host that is stopped.")
    .argument("<file>", "the backup")
    .requiredOption("--database <path>", "the database that it becomes, which must not be there yet")
    .option("--config <file>", "configuration file (turnpike.config.json when it exists)")
    .option("--checkpoint <file>", "hold the backup against checkpoints that were stored elsewhere, too")
    .option("--force", "move a database that is there aside, under another name")
    .option(
      "--revoke-credentials",
      "revoke every token that the host made: some may have been revoked since the backup",
    )
    .option("--accept-broken-trail", "restore a backup whose audit log is broken all the same")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  turnpike restore turnpike-2026-01-31.db --database .turnpike/turnpike.db")
    .exitOverride()
    .action(async (file: string, flags: RestoreFlags) => {
      const { loadConfig, restoreBackup } = await import("../compose/index.ts");
      const { database = "" } = flags;
      const config = loadConfig({ file: flags.config, env: process.env, flags: { database } });
      const wanted = {
        file,
        checkpoint: flags.checkpoint,
        isReplaced: flags.force === true,
        isRevoking: flags.revokeCredentials === true,
        isBrokenTaken: flags.acceptBrokenTrail === true,
      };
      const report = await withProgress("Checking and restoring", () => restoreBackup(config, wanted), flags);
      show(flags, report, reportText(file, report));
    });
}

function reportText(file: string, report: RestoreReport): string {
  const { database, aside, rows, lostRows, cancelledTurns, revokedCredentials, broken } = report;
  const instant = report.backupAt ?? "an unknown instant";
  return [
    `Restored ${file} as ${database}: ${counted(rows, "row")} of the audit log${broken === undefined ? ", which is whole" : ""}.`,
    ...(broken === undefined ? [] : [`Its audit log is broken: ${broken}.`]),
    ...(aside === undefined ? [] : [`The database from before is ${aside}.`]),
    `What happened after ${instant} is gone${lostRows > 0 ? `, of the audit log at least ${counted(lostRows, "row")}` : ""}:`,
    "  revocations of grants and credentials, rotated tokens, deleted tenants: do them again before you start the host;",
    "  uses of bounded grants and ids of calls: what is sent again under such an id happens again;",
    "  answers to escalations, and messages that were read: they wait again.",
    cancelledTurns === 0
      ? "No turn goes on."
      : `${counted(cancelledTurns, "turn")} that had not ended is cancelled: what it did since is not known.`,
    revokedCredentials > 0
      ? `Revoked ${counted(revokedCredentials, "credential")}. The next start makes an operator's token.`
      : "Tokens that were valid then are valid again. With --revoke-credentials none would be.",
  ].join("\n");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
