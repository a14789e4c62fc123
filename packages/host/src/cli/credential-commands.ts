import type { Command } from "commander";
import { readFileSync } from "node:fs";
import { adminTokenFile, writePrivateFile } from "../shared/index.ts";
import { endedText, principalText } from "../display/index.ts";
import {
  type AdminOutput,
  type CredentialAccess,
  type CredentialRecord,
  OperatorRoleSchema,
  operatorsTenant,
} from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { addCredentialShow, operatorText, purposesText, stateText } from "./credential-show.ts";
import { type Column, oneLine, renderTable, withMore } from "./table.ts";
import { readChoice, readExpiry, readPrincipal } from "./flags.ts";

interface CreateFlags extends OperatorFlags {
  tenant?: string;
  actor?: string;
  operator?: string;
  owner?: string;
  authority?: string;
  purpose?: string[];
  sender?: string[];
  evaluates?: boolean;
  certificate?: string;
  expires?: string;
}

interface RevokeFlags extends OperatorFlags {
  force?: boolean;
  andAnswers?: boolean;
  andEverything?: boolean;
}

const roles = OperatorRoleSchema.options;

/** `credential create | operator | list | show | revoke | rotate`. */
export function addCredentialCommands(program: Command, show: Show): void {
  const credentials = program
    .command("credential")
    .description("Make, list, show, revoke and rotate credentials.")
    .exitOverride();
  asOperator(
    credentials.command("create"),
    "Make a credential. Its token is shown this once.",
    "turnpike credential create --tenant acme --actor agent:assistant --owner human:alice --purpose support",
  )
    .requiredOption("--tenant <id>", "the tenant it belongs to")
    .requiredOption("--actor <kind:id>", "who acts with it")
    .option("--owner <kind:id>", "whose resources are in scope; the actor unless given")
    .option("--authority <kind:id>", "whose grants are exercised; the owner unless given")
    .requiredOption("--purpose <purposes...>", "what it may be used for; the first is the default")
    .option("--sender <kind:id...>", "whose messages it may start turns with; any principal's unless given")
    .option("--evaluates", "whether it may ask, through AuthZEN, what others in its tenant may do")
    .option("--certificate <name>", certificateText)
    .option("--expires <span or time>", "when it ends, such as 30d")
    .action(async (flags: CreateFlags) => {
      const actor = readPrincipal("--actor", flags.actor ?? "");
      const owner = flags.owner === undefined ? actor : readPrincipal("--owner", flags.owner);
      const authority = flags.authority === undefined ? owner : readPrincipal("--authority", flags.authority);
      const senders = flags.sender?.map((sender) => readPrincipal("--sender", sender));
      const { purpose: purposes, evaluates } = flags;
      const more = { ...(senders && { senders }), ...(evaluates === true && { evaluates }), ...certificateIn(flags) };
      const access = { actor, owner, authority, purposes, ...more };
      await make(show, flags, { namespaceId: flags.tenant, access });
    });
  asOperator(
    credentials.command("operator"),
    "Make a credential for another operator. Its token is shown this once.",
    "turnpike credential operator --name human:carol --role auditor --tenant acme",
  )
    .requiredOption("--name <kind:id>", "who the audit log will name")
    .option(
      "--role <role>",
      "admin (everything), reviewer (answers escalations) or auditor (reads); admin unless given",
      (text) => readChoice("--role", text, roles),
    )
    .option("--tenant <id>", "the one tenant that they operate; all of them unless given")
    .option("--certificate <name>", certificateText)
    .option("--expires <span or time>", "when it ends, such as 30d")
    .action(async (flags: CreateFlags & { name: string; role?: string }) => {
      const { role, tenant } = flags;
      const actor = readPrincipal("--name", flags.name);
      const limits = { ...(role !== undefined && { role }), ...(tenant !== undefined && { tenant }) };
      const access = { actor, owner: actor, purposes: ["operate"], admin: true, ...limits, ...certificateIn(flags) };
      await make(show, flags, { namespaceId: operatorsTenant, access });
    });
  withPageFlags(asOperator(credentials.command("list"), "List credentials.", "turnpike credential list --tenant acme"))
    .option("--tenant <id>", "only those of this tenant")
    .action(async (flags: OperatorFlags & PageFlags & { tenant?: string }) => {
      const { tenant: namespaceId, limit, cursor } = flags;
      const answer = await requestAdmin(flags, "listCredentials", { namespaceId, limit, cursor });
      show(flags, answer, credentialTable(answer.credentials, answer.cursor));
    });
  addCredentialShow(credentials, show, idText);
  asOperator(
    credentials.command("revoke"),
    "Revoke a credential, from the next request on.",
    "turnpike credential revoke 0123456789abcdef",
  )
    .argument("<id>", idText)
    .option("--force", "also when it is the last admin's of all tenants")
    .option("--and-answers", "also end what was approved with it: unused permits, grants, and approvals that wait")
    .option(
      "--and-everything",
      "also end everything that it left behind: sessions, turns, what was approved with it, and grants made with it",
    )
    .action(async (id: string, flags: RevokeFlags) => {
      const { force = false, andAnswers = false, andEverything = false } = flags;
      const also = { ...(andAnswers && { andAnswers }), ...(andEverything && { andEverything }) };
      const done = await requestAdmin(flags, "revokeCredential", { id, ...(force && { force }), ...also });
      show(flags, done, `Revoked ${oneLine(id)}.${revocationText(done)}`);
    });
  asOperator(
    credentials.command("rotate"),
    "Replace the token of a credential, your own or another's. The new one is shown this once, and the old one ends.",
    "turnpike credential rotate 0123456789abcdef",
  )
    .argument("<id>", idText)
    .action(async (id: string, flags: OperatorFlags) => {
      const made = await requestAdmin(flags, "rotateCredential", { id });
      show(flags, made, `The new token, shown this once:\n${made.token}${replaceInFile(flags, made)}`);
    });
}

function revocationText({ answers, ended }: AdminOutput<"revokeCredential">): string {
  if (ended !== undefined) return ` Of what it left behind, this ended: ${endedText(ended) || "nothing"}.`;
  if (answers === undefined) return "";
  const { permits, grants, approvals } = answers;
  return ` What was approved with it ended: ${permits} unused permits, ${grants} grants, ${approvals} approvals that waited.`;
}

const certificateText =
  "the client certificate without which it cannot be used, such as uri:spiffe://acme/assistant, dns:a.acme.example or sha256:...";

function certificateIn({ certificate }: CreateFlags): Pick<CredentialAccess, "certificate"> {
  return certificate === undefined ? {} : { certificate };
}

const idText = "the part of the token between tp_ and the second _";

/** Replaces the token in the file that the commands read, if it is the one that was rotated. Says what became of it. */
function replaceInFile({ database }: OperatorFlags, { id, token }: { id: string; token: string }): string {
  const file = adminTokenFile(database);
  try {
    if (!readFileSync(file, "utf8").startsWith(`tp_${id}_`)) return "";
  } catch {
    return "";
  }
  try {
    writePrivateFile(file, `${token}\n`);
    return `\n${file} has it now.`;
  } catch {
    return `\n${file} has the old one, and could not be written.`;
  }
}

async function make(show: Show, flags: CreateFlags, body: object): Promise<void> {
  const expiry = flags.expires === undefined ? {} : { expiresAt: readExpiry("--expires", flags.expires) };
  const made = await requestAdmin(flags, "createCredential", { ...body, ...expiry });
  show(flags, made, `The token, shown this once:\n${made.token}`);
}

function credentialTable(credentials: readonly CredentialRecord[], cursor: string | undefined): string {
  if (credentials.length === 0) return "There are no credentials.";
  return withMore(renderTable(credentialColumns, credentials), cursor);
}

const credentialColumns: readonly Column<CredentialRecord>[] = [
  { heading: "ID", value: ({ id }) => id },
  { heading: "TENANT", value: ({ namespaceId }) => namespaceId },
  { heading: "ACTOR", value: ({ access }) => principalText(access.actor), shrinks: 1 },
  { heading: "OWNER", value: ({ access }) => principalText(access.owner), shrinks: 2 },
  {
    heading: "PURPOSES",
    value: ({ access }) => (access.admin === true ? operatorText(access) : purposesText(access)),
    shrinks: 2,
  },
  { heading: "SENDERS", value: ({ access }) => access.senders?.map(principalText).join(",") ?? "any", shrinks: 3 },
  { heading: "STATE", value: stateText, shrinks: 1 },
  { heading: "LAST USED", value: ({ lastUsedAt = "never" }) => lastUsedAt },
];
