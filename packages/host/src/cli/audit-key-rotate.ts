import type { Command } from "commander";
import type { Show } from "./connection.ts";

interface RotateFlags {
  config?: string;
  database?: string;
  with?: string;
  json?: boolean;
}

/** `audit key rotate`. */
export function addAuditKeyRotate(key: Command, show: Show): void {
  key
    .command("rotate")
    .description(
      "Replace the key that checkpoints are signed with, while no host runs. The old key signs that it hands over.",
    )
    .option("--config <file>", "configuration file (turnpike.config.json when it exists)")
    .option("--database <location>", "the host's database, beside which its key is stored")
    .option(
      "--with <file>",
      "the new private key, such as the one of another host on this database; a fresh one unless given",
    )
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  turnpike audit key rotate --database .turnpike/turnpike.db")
    .exitOverride()
    .action(async (_flags: RotateFlags, command: Command) => {
      const flags: RotateFlags = command.opts();
      const { loadConfig, rotateAuditKey } = await import("../compose/index.ts");
      const { database } = flags;
      const config = loadConfig({ file: flags.config, env: process.env, flags: { ...(database && { database }) } });
      const rotated = await rotateAuditKey(config, flags.with);
      show(
        flags,
        rotated,
        `The key ${rotated.to} signs from now on; ${rotated.from} handed over to it, and is gone.\n` +
          `Its public key is in ${rotated.publicKeyFile}: keep it, exports that it signed are verified with it.`,
      );
    });
}
