import type { Command } from "commander";
import { isPostgres } from "../shared/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { withProgress } from "./progress.ts";

/** The subcommands of `database`. */
const subcommands: readonly ((database: Command, show: Show) => void)[] = [addEpoch, addAcceptLoss];

/** `database epoch | accept-loss`. */
export function addDatabaseCommands(program: Command, show: Show): void {
  const database = program.command("database").description("Look after the database of a host.").exitOverride();
  for (const add of subcommands) add(database, show);
}

interface EpochFlags {
  config?: string;
  database?: string;
  json?: boolean;
}

function addEpoch(database: Command, show: Show): void {
  database
    .command("epoch")
    .description(
      "Show the epoch of a database: the number of its newest migration, and the lowest whose hosts may serve.",
    )
    .option("--config <file>", "configuration file (turnpike.config.json when it exists)")
    .option("--database <location>", "postgres:// URL, or path of the SQLite file of a host that is stopped")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  turnpike database epoch --database .turnpike/turnpike.db")
    .exitOverride()
    .action(async (_flags: EpochFlags, command: Command) => {
      const flags: EpochFlags = command.opts();
      const { databaseEpoch, loadConfig } = await import("../compose/index.ts");
      const config = loadConfig({
        file: flags.config,
        env: process.env,
        flags: { ...(flags.database && { database: flags.database }) },
      });
      const { epoch, lowest } = await databaseEpoch(config.database);
      show(flags, { epoch, lowest }, `The epoch is ${epoch}. Versions from epoch ${lowest} on may serve the database.`);
    });
}

interface AcceptFlags extends OperatorFlags {
  revokeCredentials?: boolean;
}

type Accepted = AdminOutput<"acceptLoss">;

function addAcceptLoss(database: Command, show: Show): void {
  asOperator(
    database.command("accept-loss"),
    "Go on without rows that the database lost: of a host that runs and is not ready, or of the stopped SQLite file that --database names.",
    "turnpike database accept-loss --url https://gate.example.com",
  )
    .option(
      "--revoke-credentials",
      "revoke every token that hosts made: some may have been revoked in the time that is lost",
    )
    .action(async (flags: AcceptFlags) => {
      const isRevoking = flags.revokeCredentials === true;
      const accepted = isStopped(flags)
        ? await withProgress("Comparing with the checkpoints", () => acceptOfFile(flags, isRevoking), flags)
        : await requestAdmin(flags, "acceptLoss", { revokeCredentials: isRevoking });
      show(flags, accepted, acceptedText(accepted));
    });
}

function isStopped({ place, database }: AcceptFlags): boolean {
  return place?.isDatabaseGiven === true && !place.isUrlGiven && !isPostgres(database);
}

async function acceptOfFile({ config: file, database }: AcceptFlags, isRevoking: boolean): Promise<Accepted> {
  const { acceptLossOfFile, loadConfig } = await import("../compose/index.ts");
  return acceptLossOfFile(loadConfig({ file, env: process.env, flags: { database } }), isRevoking);
}

function acceptedText({ noticedAt, lostRows, tenants, revokedCredentials }: Accepted): string {
  if (noticedAt === undefined)
    return "There is no loss to accept: the database has all that is known to have been there.";
  return [
    `Accepted: at least ${counted(lostRows, "row")} of ${counted(tenants, "audit log")} are lost, as noticed ${noticedAt}.`,
    "What happened in the time that is lost is not known any more:",
    "  ids of calls and turns: what is sent again under such an id happens again;",
    "  revocations of grants and credentials, rotated tokens, deleted tenants: do them again;",
    "  uses of bounded grants, answers to escalations, and messages that were read.",
    "Turns that had not ended end as interrupted, and approvals of single acts have lapsed.",
    revokedCredentials > 0
      ? `Revoked ${counted(revokedCredentials, "credential")}. The next start makes an operator's token.`
      : "Tokens that were revoked in that time are valid again. With --revoke-credentials none would be.",
  ].join("\n");
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
