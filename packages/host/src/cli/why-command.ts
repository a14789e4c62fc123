import type { Command } from "commander";
import type { AuditEvent, PrincipalRef } from "turnpike/contracts";
import type { AdminExplanation } from "../admin-contract/index.ts";
import { ConfigError } from "../shared/index.ts";
import {
  consideredText,
  decidedText,
  nameText,
  needsApproval,
  principalText,
  resourceText,
  whoText,
} from "../display/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, sameHost, type OperatorFlags, type Show } from "./connection.ts";
import { type Column, jsonText, oneLine, renderTable } from "./table.ts";
import { readInstant, readPrincipal, readResource } from "./flags.ts";
import { hintLine, isPasteable } from "./format.ts";

interface WhyFlags extends OperatorFlags {
  tenant: string;
  trace?: string;
  actor?: string;
  owner?: string;
  authority?: string;
  purpose?: string;
  resource?: string;
  action?: string;
  at?: string;
}

/** `why`: a decision, every grant that was considered, and what would change the decision. */
export function addWhyCommand(program: Command, show: Show): void {
  asOperator(
    program.command("why"),
    "Explain why an act is allowed or denied, and what would allow it.",
    "turnpike why --tenant acme --actor agent:assistant --owner human:alice --purpose support --action read --resource files/private/diary.md",
  )
    .requiredOption("--tenant <id>", "the tenant")
    .option("--trace <id>", "explain the last denial of this trace; of the other flags only --actor then counts")
    .option("--actor <kind:id>", "who acts")
    .option("--owner <kind:id>", "whose resources; the actor's own unless given")
    .option("--authority <kind:id>", "whose grants; the owner's unless given")
    .option("--purpose <purpose>", "what for")
    .option("--action <action>", "what is done")
    .option("--resource <namespace/path>", "where")
    .option("--at <time>", "as of this instant, with the grants as they were or will be then; now unless given")
    .action(async (flags: WhyFlags) => {
      const { tenant: namespaceId, trace: traceId } = flags;
      if (traceId !== undefined && flags.at !== undefined)
        throw new ConfigError("--at: expected it or --trace, not both.");
      const explanation =
        traceId === undefined
          ? await requestAdmin(flags, "explain", inputOf(flags))
          : await requestAdmin(flags, "explainDenial", { namespaceId, traceId, ...actorOf(flags) });
      show(flags, explanation, explanationText(explanation, flags));
    });
}

function actorOf({ actor }: WhyFlags): { actor?: PrincipalRef } {
  return actor === undefined ? {} : { actor: readPrincipal("--actor", actor) };
}

function inputOf(flags: WhyFlags): Record<string, unknown> {
  const { tenant: namespaceId, actor, owner, authority, purpose, resource, action, at } = flags;
  if (actor === undefined || purpose === undefined || resource === undefined || action === undefined)
    throw new ConfigError("why: expected --trace, or all of --actor, --purpose, --action and --resource.");
  return {
    namespaceId,
    actor: readPrincipal("--actor", actor),
    ...(owner !== undefined && { owner: readPrincipal("--owner", owner) }),
    ...(authority !== undefined && { authority: readPrincipal("--authority", authority) }),
    purpose,
    resource: readResource(resource),
    action,
    ...(at !== undefined && { at: readInstant("--at", at) }),
  };
}

function explanationText(explanation: AdminExplanation, flags: WhyFlags): string {
  const { grants, recorded, suggestion, obstacle } = explanation;
  const parts = [
    verdictLine(explanation, flags),
    ...(recorded === undefined ? [] : [recordedLine(explanation, recorded, flags)]),
    grants.length === 0 ? noGrants(explanation) : renderTable(consideredColumns(explanation), grants),
    ...(suggestion === undefined
      ? []
      : [`This would allow exactly this and nothing more:\n  ${suggestedCommand(suggestion, flags)}`]),
    ...(obstacle === undefined ? [] : [oneLine(obstacle)]),
    ...approvalAdvice(explanation, flags),
  ];
  return parts.join("\n\n");
}

function consideredColumns(explanation: AdminExplanation): Column<AdminExplanation["grants"][number]>[] {
  return [
    { heading: "GRANT", value: ({ grant }) => grant.id },
    { heading: "FROM", value: ({ grant }) => principalText(grant.issuer), shrinks: 1 },
    { heading: "FAILED", value: ({ failed = "-" }) => failed, shrinks: 1 },
    { heading: "BECAUSE", value: (considered) => consideredText(considered, explanation), shrinks: 2 },
  ];
}

/** What needs approval needs no other grant: a person has to answer the escalation that waits. */
function approvalAdvice({ decision, grants, recorded, access }: AdminExplanation, flags: OperatorFlags): string[] {
  const carrier = grants.find(({ grant }) => decision.allowed && grant.id === decision.matchedGrantId)?.grant;
  const isByYes = carrier !== undefined && needsApproval(carrier);
  if (decision.allowed && !isByYes) return [];
  // An explanation has no arguments. Only the audit log knows what became of exactly that act.
  const reason = [recorded?.reason, decision.reasonCode].find(isApprovalReason);
  const unused =
    "An approval that was not used yet allows this, and it is for one act alone: another waits for its own.";
  return [...(isByYes ? [unused] : []), ...(reason === undefined ? [] : [listAdvice(reason, access, flags)])];
}

function listAdvice(reason: string, { namespaceId }: AdminExplanation["access"], flags: OperatorFlags): string {
  const [what, ...status] = listAdvices[reason] ?? [];
  const list = ["escalation", "list", ...sameHost(flags), ...flag("--tenant", namespaceId), ...status];
  return `${what}\n  ${hintLine(list)}`;
}

/** By the reason: what to say of it, and the flags that list such escalations. */
const listAdvices: Readonly<Record<string, readonly string[]>> = {
  approval_required: ["Each such act waits for a person's approval. This lists what waits:"],
  approval_denied: ["A person denied it. This lists such acts:", "--status", "denied"],
  approval_expired: ["It was not approved in time. This lists such acts:", "--status", "expired"],
};

function isApprovalReason(reason: string | undefined): boolean {
  return reason !== undefined && Object.hasOwn(listAdvices, reason);
}

function verdictLine({ decision, access, request }: AdminExplanation, { at }: WhyFlags): string {
  const verdict = decision.allowed ? "ALLOWED" : "DENIED";
  const { actor, owner, authority, purpose } = access;
  const act = request === undefined ? `the call of ${whoText(owner)}` : decidedText(request, owner);
  const whose = `on grants of ${whoText(authority)}`;
  const when = at === undefined ? "" : `, at ${at}`;
  return oneLine(
    `${verdict} (${decision.reasonCode}): ${whoText(actor)}, ${act}, ${whose}, for ${nameText(purpose)}${when}`,
  );
}

function recordedLine({ access, toolNamespace }: AdminExplanation, event: AuditEvent, flags: OperatorFlags): string {
  const { at, tool, reason, metadata = {} } = event;
  const what = oneLine(`In the audit log ${at}: ${[tool, reason].filter(Boolean).join(" ")}`);
  switch (metadata["hidden"]) {
    case "not-registered":
      return `${what}: this host has no such tool.`;
    case "namespace-disabled":
      return `${what}: its namespace is off. This switches it on:\n  ${enableCommand(access, toolNamespace, flags)}`;
    case "not-granted":
      return `${what}: no grant reaches into what the tool needs.\nTry again with --action and --resource.`;
    default:
      return what;
  }
}

function enableCommand(
  { namespaceId, actor }: AdminExplanation["access"],
  toolNamespace: string | undefined,
  flags: OperatorFlags,
): string {
  const verb = toolNamespace === undefined ? ["list"] : ["enable", toolNamespace];
  const command = ["namespace", ...verb, ...sameHost(flags)];
  return hintLine([...command, ...flag("--tenant", namespaceId), ...flag("--actor", principalText(actor))]);
}

function noGrants({ request, access }: AdminExplanation): string {
  if (request === undefined) return "The act itself was never decided.";
  const [holder, issuer] = [principalText(access.actor), principalText(access.authority)];
  return oneLine(`${holder} holds no grant of ${issuer} in ${access.namespaceId}.`);
}

function suggestedCommand(suggestion: NonNullable<AdminExplanation["suggestion"]>, flags: OperatorFlags): string {
  const { namespaceId, subject, issuer, capabilities, constraints, parentId } = suggestion;
  const asJson = `POST /admin/v1/grants ${jsonText({ id: "<a new id>", ...suggestion, issuedAt: "<now>" }, 0)}`;
  const [capability] = capabilities;
  // There is no command for a namespace with a slash, or for a parent whose id looks like a flag.
  if (capability === undefined || capability.resource.namespace.includes("/") || parentId?.startsWith("-"))
    return asJson;
  const { resource, actions } = capability;
  const { purposes = [], delegationDepth } = constraints;
  const words = [
    "grant",
    ...(parentId === undefined ? ["create"] : ["derive", parentId]),
    ...sameHost(flags),
    ...flag("--tenant", namespaceId),
    ...flag("--to", principalText(subject)),
    ...(parentId === undefined ? flag("--from", principalText(issuer)) : []),
    ...(resource.owner === undefined ? [] : flag("--owner", principalText(resource.owner))),
    ...flag("--resource", resourceText(resource)),
    "--exact",
    ...actions.flatMap((action) => flag("--action", action)),
    ...purposes.flatMap((purpose) => flag("--purpose", purpose)),
    ...(delegationDepth === undefined ? [] : ["--depth", String(delegationDepth)]),
  ];
  return words.every(isPasteable) ? hintLine(words) : asJson;
}

/** A value that begins with a dash has to be joined to its flag with `=`, or it would be read as another flag. */
function flag(name: string, value: string): string[] {
  return value.startsWith("-") ? [`${name}=${value}`] : [name, value];
}
