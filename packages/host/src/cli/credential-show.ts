import { programName } from "../shared/index.ts";
import type { Command } from "commander";
import { principalText, remainingId, remainingText } from "../display/index.ts";
import type { AdminOutput, CredentialAccess, CredentialRecord, Remaining } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { type Column, oneLine, renderTable, withMore } from "./table.ts";

/** `credential show`. */
export function addCredentialShow(credentials: Command, show: Show, idText: string): void {
  withPageFlags(
    asOperator(
      credentials.command("show"),
      "Show a credential, when it was last used, and what it left behind: sessions, turns, approvals, permits and grants.",
      "turnpike credential show 0123456789abcdef",
    ),
  )
    .argument("<id>", idText)
    .action(async (id: string, flags: OperatorFlags & PageFlags) => {
      const { limit, cursor } = flags;
      const shown = await requestAdmin(flags, "showCredential", { id, limit, cursor });
      show(flags, shown, credentialText(shown));
    });
}

function credentialText({ credential, remaining, cursor }: AdminOutput<"showCredential">): string {
  const { id, namespaceId, access, createdAt, lastUsedAt = "never" } = credential;
  const { actor, owner, authority = owner, senders } = access;
  const isOperator = access.admin === true;
  const facts: [string, string | undefined][] = [
    ["state", stateText(credential)],
    ["actor", principalText(actor)],
    ["owner", isOperator ? undefined : principalText(owner)],
    ["authority", isOperator ? undefined : principalText(authority)],
    ["may", isOperator ? operatorText(access) : purposesText(access)],
    ["senders", senders?.map(principalText).join(", ")],
    ["made", createdAt],
    ["last used", lastUsedAt],
  ];
  return [
    oneLine(`${id} in ${namespaceId}`),
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(9)} ${oneLine(value)}`])),
    "",
    remainingTable(remaining, cursor),
    ...(remaining.length === 0 ? [] : [`\`${programName()} credential revoke --and-everything\` ends all of it.`]),
  ].join("\n");
}

function remainingTable(remaining: readonly Remaining[], cursor: string | undefined): string {
  if (remaining.length === 0 && cursor === undefined) return "It left nothing behind.";
  return withMore(`What it left behind:\n${renderTable(remainingColumns, remaining)}`, cursor);
}

const remainingColumns: readonly Column<Remaining>[] = [
  { heading: "KIND", value: ({ kind }) => kind },
  { heading: "TENANT", value: (one) => (one.kind === "session" ? "" : one.namespaceId) },
  { heading: "ID", value: remainingId },
  { heading: "ABOUT", value: remainingText, shrinks: 1 },
];

export function stateText({ expiresAt, revokedAt }: CredentialRecord): string {
  if (revokedAt !== undefined) return `revoked ${revokedAt}`;
  return expiresAt === undefined ? "good" : `until ${expiresAt}`;
}

export function purposesText({ purposes, evaluates }: CredentialAccess): string {
  return `${purposes.join(",")}${evaluates === true ? " (evaluates)" : ""}`;
}

export function operatorText({ role = "admin", tenant }: CredentialAccess): string {
  return `operator: ${role}${tenant === undefined ? "" : ` of ${tenant}`}`;
}
