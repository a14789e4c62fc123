import type { Command } from "commander";
import { parseInstant } from "turnpike/contracts";
import { ConfigError, nearestName } from "../shared/index.ts";
import { parseResourceText } from "../display/index.ts";
import { AdminClientError, type AdminOutput, createAdminClient } from "../admin-contract/index.ts";
import { warningText } from "./command-failure.ts";
import type { OperatorFlags } from "./connection.ts";

type Names = AdminOutput<"readNames">;
/** What a host says of names: of the tenant alone to those who may not know the others. */
type KnownNames = { tenant: { isKnown: boolean; nearest?: string | undefined } } & Partial<Names>;

/** What a command line names that could be mistyped. */
interface NamedThings {
  tenant?: string | undefined;
  /** Whether the tenant is a word of the command, and no flag. */
  isTenantWord?: boolean;
  /** A tenant may begin with this command, or have nothing yet: one that is unknown is a mistake only when another is like it. */
  mayBeNew?: boolean;
  resource?: string | undefined;
  actions?: readonly string[] | undefined;
  toolNamespaces?: readonly string[];
  expires?: string | undefined;
}

interface HintFlags extends OperatorFlags {
  tenant?: string;
  resource?: string;
  action?: string | string[];
  expires?: string;
  strict?: boolean;
}

type NamesOf = (flags: HintFlags, args: readonly string[]) => NamedThings;

/**
 * The commands that change or ask something by names, and which of their words are names. All others name a tenant at most, and
 * say themselves when nothing is of it.
 */
const hinted: Readonly<Record<string, NamesOf>> = {
  "credential create": ({ tenant, expires }) => ({ tenant, mayBeNew: true, expires }),
  "credential operator": ({ tenant, expires }) => ({ tenant, expires }),
  "grant create": (flags) => ({ ...actOf(flags), mayBeNew: true, expires: flags.expires }),
  "grant derive": (flags) => ({ ...actOf(flags), expires: flags.expires }),
  "grant list": ({ tenant, resource }) => ({ tenant, mayBeNew: true, resource }),
  "grant export": ({ tenant }) => ({ tenant }),
  "grant apply": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "grant import": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "namespace list": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "namespace enable": ({ tenant }, args) => ({ tenant, toolNamespaces: args }),
  "namespace disable": ({ tenant }, args) => ({ tenant, toolNamespaces: args }),
  "escalation list": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "escalation approve": ({ tenant, expires }) => ({ tenant, mayBeNew: true, expires }),
  "audit list": ({ tenant }) => ({ tenant, mayBeNew: true }),
  activity: ({ tenant }) => ({ tenant, mayBeNew: true }),
  "principal list": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "reach show": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "reach who": (flags) => ({ ...actOf(flags), mayBeNew: true }),
  "tenant delete": (_flags, [tenant]) => ({ tenant, isTenantWord: true, mayBeNew: true }),
  why: actOf,
};

/** Which words of a command are names; undefined when none of them is. */
function namesOf(command: Command): NamesOf | undefined {
  const path = pathOf(command);
  if (Object.hasOwn(hinted, path)) return hinted[path];
  return command.options.some(({ long }) => long === "--tenant")
    ? ({ tenant }) => ({ tenant, mayBeNew: true })
    : undefined;
}

function actOf({ tenant, resource, action }: HintFlags): NamedThings {
  return { tenant, resource, actions: typeof action === "string" ? [action] : action };
}

/** Adds `--strict` to the commands that give hints. */
export function addStrictFlags(program: Command): void {
  for (const group of program.commands)
    for (const command of [group, ...group.commands])
      if (namesOf(command) !== undefined)
        command.option("--strict", "do nothing when a name or a time is probably a mistake, which else is a warning");
}

/** Has a command check its names before its first request, which is when its own flags have been checked. */
export function prepareHints(command: Command, warn: (line: string) => void): void {
  const named = namesOf(command);
  if (named === undefined) return;
  const flags = command.opts<HintFlags>();
  let checked: Promise<void> | undefined;
  command.setOptionValue(
    "beforeRequest",
    (token: string) => (checked ??= checkNames(named(flags, command.args), flags, token, warn)),
  );
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
}

async function checkNames(
  named: NamedThings,
  flags: HintFlags,
  token: string,
  warn: (line: string) => void,
): Promise<void> {
  const { tenant, resource, toolNamespaces } = named;
  const isAsking = tenant !== undefined || resource !== undefined || toolNamespaces !== undefined;
  const names = isAsking && tenant !== undefined ? await askFor(flags.url, token, tenant) : undefined;
  const hints = hintsAbout(named, names, new Date());
  if (hints.length === 0) return;
  if (flags.strict === true) throw new ConfigError(`${hints.join("\n")}\nNothing was done, because of --strict.`);
  for (const hint of hints) warn(warningText(hint, flags.json === true));
}

/** The names that the host knows; undefined when it does not tell, which is no reason for the command to fail. */
async function askFor(url: string, token: string, namespaceId: string): Promise<KnownNames | undefined> {
  const client = createAdminClient({ url, token });
  try {
    return await client.request("readNames", { namespaceId });
  } catch (error) {
    if (!(error instanceof AdminClientError) || error.code !== "permission_denied") return undefined;
  }
  // Reviewers, and operators of another tenant, may know which tenants they have.
  try {
    const { tenants, cursor } = await client.request("listTenants", { limit: mostTenants });
    const names = tenants.map((tenant) => tenant.namespaceId);
    if (cursor !== undefined) return undefined;
    return { tenant: { isKnown: names.includes(namespaceId), nearest: nearestName(namespaceId, names) } };
  } catch {
    return undefined;
  }
}

const mostTenants = 500;

/** What is probably a mistake, one sentence each. */
export function hintsAbout(named: NamedThings, names: KnownNames | undefined, now: Date): string[] {
  const {
    tenant,
    isTenantWord = false,
    mayBeNew = false,
    expires,
    resource,
    actions = [],
    toolNamespaces = [],
  } = named;
  const ends = expires === undefined ? undefined : parseInstant(expires);
  const past =
    ends !== undefined && ends <= now.getTime()
      ? [`--expires ${expires} has passed: what ends then is never used.`]
      : [];
  if (names === undefined) return past;
  const isTenantDoubtful = !names.tenant.isKnown && (!mayBeNew || names.tenant.nearest !== undefined);
  return [
    ...(tenant !== undefined && isTenantDoubtful
      ? [
          `${isTenantWord ? "" : "--tenant "}${tenant}: nothing on this host is of such a tenant.${meant(names.tenant.nearest)}`,
        ]
      : []),
    ...(names.toolNamespaces === undefined
      ? []
      : toolNamespaces.flatMap((name) => unknownName(name, "tool namespace", names.toolNamespaces ?? []))),
    ...(resource === undefined || names.resources === undefined
      ? []
      : hintsAboutAct(resource, actions, names.resources)),
    ...past,
  ];
}

function hintsAboutAct(resource: string, actions: readonly string[], resources: Names["resources"]): string[] {
  const namespace = parseResourceText(resource)?.namespace ?? resource;
  const known = resources.find((one) => one.namespace === namespace);
  if (known === undefined) {
    const namespaces = resources.map((one) => one.namespace);
    return unknownName(namespace, "resource namespace", namespaces, "--resource ");
  }
  const named = known.actions.filter((action) => action !== "*");
  // Where a grant has every action, any name may be meant, and only one that is like another is probably a mistake.
  const isAnyMeant = named.length < known.actions.length;
  return actions
    .filter((action) => action !== "*" && (!isAnyMeant || nearestName(action, named) !== undefined))
    .flatMap((action) => unknownName(action, `action in ${namespace}`, named, "--action "));
}

function unknownName(name: string, kind: string, known: readonly string[], flag = ""): string[] {
  if (known.includes(name)) return [];
  const near = nearestName(name, known);
  const list =
    near === undefined && known.length > 0
      ? ` It knows ${known.slice(0, maxListed).join(", ")}${known.length > maxListed ? " and others" : ""}.`
      : meant(near);
  return [`${flag}${name}: this host knows no such ${kind}.${list}`];
}

const maxListed = 12;

function meant(near: string | undefined): string {
  return near === undefined ? "" : ` Did you mean ${near}?`;
}
