import type { Command } from "commander";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";

/** `console`: a link that opens the console as the operator whose token the command has. */
export function addConsoleCommand(program: Command, show: Show): void {
  asOperator(
    program.command("console"),
    "Print a link that opens the console, signed in as you. It works once, for 10 minutes.",
    "turnpike console",
  ).action(async (flags: OperatorFlags) => {
    const made = await requestAdmin(flags, "createCode", {});
    show(flags, made, `${made.url}\nIt signs one browser in as you, once, until ${made.expiresAt}.`);
  });
}
