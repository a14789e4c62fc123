import { programName } from "../shared/index.ts";
import { randomBytes } from "node:crypto";
import type { ErrorObject, JsonValue, ResourceResult, ToolResult } from "turnpike/contracts";
import { CommandError } from "./command-failure.ts";
import { oneLine } from "./table.ts";

type Refused = Pick<ErrorObject, "code" | "message" | "details">;

/** What a caller can do next about a refusal. */
function nextStep({ code, details }: Refused, isDenied: boolean, traceId: string | undefined): string {
  if (code === "version_conflict") return "\nRead it again, and try with the version it has now.";
  const escalations = `${programName()} escalation`;
  if (code === "approval_denied" || code === "approval_expired") {
    const status = code.slice("approval_".length);
    return `\nIt is not asked about again for a while. An operator can see it: ${escalations} list --tenant <tenant> --status ${status}`;
  }
  const { escalationId, expiresAt } = details ?? {};
  if (code === "approval_required" && typeof escalationId === "string") {
    const until = typeof expiresAt === "string" ? ` until ${oneLine(expiresAt)}` : "";
    return `\nIt waits for an answer${until}. Once it is approved, do the same again: it works once.\nAn operator reads it first: ${escalations} show ${oneLine(escalationId)} --tenant <tenant>`;
  }
  if (isDenied && traceId === undefined)
    return `\nThe audit log says more: ${programName()} audit list --tenant <tenant> --outcome denied`;
  return isDenied
    ? `\nAn operator can say what is missing: ${programName()} why --tenant <tenant> --trace ${traceId}`
    : "";
}

/** The output of an act that succeeded, in a trace of the command's own if it has one. Otherwise throws an error whose message is for the person at the terminal. */
export function outputOf(result: ToolResult | ResourceResult, traceId?: string): JsonValue {
  if (result.status === "succeeded") return result.output;
  throw refusal(result.status, result.error, traceId);
}

/** Why an act did not succeed, and what to do about it. */
export function refusal(status: string, error: Refused, traceId?: string): Error {
  const [isDenied, what] = [status === "denied", status.charAt(0).toUpperCase() + status.slice(1)];
  const message = oneLine(`${what} (${error.code}): ${error.message}`) + nextStep(error, isDenied, traceId);
  return new CommandError(error.code, message);
}

/** A new id for one act of one command. */
export function freshId(kind: string): string {
  return `${kind}-${randomBytes(8).toString("hex")}`;
}
