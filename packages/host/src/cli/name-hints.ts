import type { Command } from "commander";
import { parseInstant } from "turnpike/contracts";
import { ConfigError, nearestName } from "../base/index.ts";
import { type AdminOutput, createAdminClient, parseResourceText } from "../management/index.ts";
import { warningText } from "./command-failure.ts";
import type { OperatorFlags } from "./connection.ts";

type Names = AdminOutput<"readNames">;

/** What a command line names that could be mistyped. */
interface NamedThings {
  tenant?: string | undefined;
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

/** The commands that change or ask something by names, and which of their words are names. */
const hinted: Readonly<Record<string, (flags: HintFlags, args: readonly string[]) => NamedThings>> = {
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
  "escalation approve": ({ expires }) => ({ expires }),
  "audit list": ({ tenant }) => ({ tenant, mayBeNew: true }),
  activity: ({ tenant }) => ({ tenant, mayBeNew: true }),
  "principal list": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "reach show": ({ tenant }) => ({ tenant, mayBeNew: true }),
  "reach who": (flags) => ({ ...actOf(flags), mayBeNew: true }),
  why: actOf,
};

function actOf({ tenant, resource, action }: HintFlags): NamedThings {
  return { tenant, resource, actions: typeof action === "string" ? [action] : action };
}

/** Adds `--strict` to the commands that give hints. */
export function addStrictFlags(program: Command): void {
  for (const group of program.commands)
    for (const command of [group, ...group.commands])
      if (Object.hasOwn(hinted, pathOf(command)))
        command.option("--strict", "do nothing when a name or a time is probably a mistake, which else is a warning");
}

/** Has a command look at its names before its first request, which is when its own flags have been checked. */
export function prepareHints(command: Command, warn: (line: string) => void): void {
  const namesOf = Object.hasOwn(hinted, pathOf(command)) ? hinted[pathOf(command)] : undefined;
  if (namesOf === undefined) return;
  const flags = command.opts<HintFlags>();
  let looked: Promise<void> | undefined;
  command.setOptionValue(
    "beforeRequest",
    (token: string) => (looked ??= look(namesOf(flags, command.args), flags, token, warn)),
  );
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
}

async function look(named: NamedThings, flags: HintFlags, token: string, warn: (line: string) => void): Promise<void> {
  const { tenant, resource, toolNamespaces } = named;
  const isAsking = tenant !== undefined || resource !== undefined || toolNamespaces !== undefined;
  const names = isAsking && tenant !== undefined ? await askFor(flags.url, token, tenant) : undefined;
  const hints = hintsAbout(named, names, new Date());
  if (hints.length === 0) return;
  if (flags.strict === true) throw new ConfigError(`${hints.join("\n")}\nNothing was done, because of --strict.`);
  for (const hint of hints) warn(warningText(hint, flags.json === true));
}

/** The names that the host knows; undefined when it does not tell, which is no reason for the command to fail. */
async function askFor(url: string, token: string, namespaceId: string): Promise<Names | undefined> {
  try {
    return await createAdminClient({ url, token }).request("readNames", { namespaceId });
  } catch {
    return undefined;
  }
}

/** What is probably a mistake, one sentence each. */
export function hintsAbout(named: NamedThings, names: Names | undefined, now: Date): string[] {
  const { tenant, mayBeNew = false, expires, resource, actions = [], toolNamespaces = [] } = named;
  const ends = expires === undefined ? undefined : parseInstant(expires);
  const past =
    ends !== undefined && ends <= now.getTime()
      ? [`--expires ${expires} has passed: what ends then is never used.`]
      : [];
  if (names === undefined) return past;
  const isTenantDoubtful = !names.tenant.isKnown && (!mayBeNew || names.tenant.nearest !== undefined);
  return [
    ...(tenant !== undefined && isTenantDoubtful
      ? [`--tenant ${tenant}: nothing on this host is of such a tenant.${meant(names.tenant.nearest)}`]
      : []),
    ...toolNamespaces.flatMap((name) => unknownName(name, "tool namespace", names.toolNamespaces)),
    ...(resource === undefined ? [] : hintsAboutAct(resource, actions, names)),
    ...past,
  ];
}

function hintsAboutAct(resource: string, actions: readonly string[], { resources }: Names): string[] {
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
