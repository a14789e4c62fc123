import { principalKey, type Capability, type Grant, type PrincipalRef } from "turnpike/contracts";
import { grantSpans, type GrantSpan } from "turnpike/kernel";
import { type EntityId, literal, partyEntity, placeEntity, principalEntity, quoted } from "./cedar-names.ts";
import { schemaOf } from "./cedar-schema.ts";

/** The grants of a tenant in the words of Cedar. */
interface CedarExport {
  /** The text of policies: one for each capability, and comments for those that Cedar cannot decide about. */
  policies: string;
  /** How many policies these are. */
  count: number;
  /** The text of a schema that the policies fit. */
  schema: string;
  /** The places that policies name and those above them, and the parties of the principals that policies name. */
  entities: readonly CedarEntity[];
  /** What makes Cedar deny requests that the grants carry. */
  leftOut: readonly LeftOut[];
}

interface CedarEntity {
  uid: EntityId;
  attrs: Record<string, never>;
  parents: readonly EntityId[];
}

interface LeftOut {
  grantId: string;
  condition: string;
}

const fineFrom = "from finer than a millisecond";
const fineUntil = "until finer than a millisecond";
const illFormed = "text that is not Unicode";

/**
 * Grants of one tenant as policies of Cedar that allow nothing that the grants do not carry. A chain is folded into the window of
 * its last grant. Throws a `TypeError` for grants of several tenants.
 */
export function cedarOf(grants: readonly Grant[]): CedarExport {
  const spans = grantSpans(grants).toSorted(
    ({ grant: one }, { grant: other }) =>
      compare(principalKey(one.subject), principalKey(other.subject)) || compare(one.id, other.id),
  );
  const blocks: string[] = [];
  const entities = new Map<string, CedarEntity>();
  const actions = new Set<string>();
  const leftOut: LeftOut[] = [];
  let count = 0;
  for (const span of spans) {
    const { id: grantId, capabilities, issuer } = span.grant;
    const conditions = new Set<string>();
    for (const [place, capability] of capabilities.entries()) {
      const lacking = unsayable(span.grant, capability);
      for (const condition of lacking) conditions.add(condition);
      if (lacking.includes(illFormed)) {
        blocks.push(commented(grantId, place, lacking, ""));
        continue;
      }
      for (const action of capability.actions) actions.add(action);
      const policy = policyOf(span, capability, place);
      if (lacking.length > 0) {
        blocks.push(commented(grantId, place, lacking, policy));
        continue;
      }
      blocks.push(policy);
      count += 1;
      if (!Number.isInteger(span.from)) conditions.add(fineFrom);
      if (span.until !== Infinity && !Number.isInteger(span.until)) conditions.add(fineUntil);
      for (const entity of [...placesOf(capability), ...partiesOf([issuer, capability.resource.owner])])
        entities.set(literal(entity.uid), entity);
    }
    for (const condition of conditions) leftOut.push({ grantId, condition });
  }
  const policies = [head, ...blocks].join("\n\n");
  return {
    policies: `${policies}\n`,
    count,
    schema: schemaOf([...actions]),
    entities: [...entities.values()],
    leftOut,
  };
}

const head = [
  "// Grants as policies of Cedar, one for each of their capabilities. What Cedar cannot decide about is a comment, and so denied.",
  "// Instants are whole milliseconds here: a window that begins or ends within one begins after it, and ends before it.",
].join("\n");

/** The conditions that Cedar has no words for. One that is not known here is one of them. */
function unsayable({ id, subject, issuer, constraints }: Grant, capability: Capability): string[] {
  const { purposes, notBefore: _from, expiresAt: _until, delegationDepth: _depth, ...otherConstraints } = constraints;
  const { resource, actions, scope: _scope, ...otherTerms } = capability;
  const owners = resource.owner === undefined ? [] : [resource.owner];
  const principals = [subject, issuer, ...owners].map(principalKey);
  const texts = [id, ...principals, resource.namespace, ...resource.path, ...actions, ...(purposes ?? [])];
  const others = Object.entries({ ...otherTerms, ...otherConstraints });
  return [
    ...others.filter(([, value]) => value !== undefined).map(([name]) => name),
    // Cedar's texts have no halves of surrogate pairs.
    ...(texts.some((text) => /\p{Cs}/u.test(text)) ? [illFormed] : []),
  ];
}

function policyOf({ grant, from, until }: GrantSpan, { resource, actions, scope }: Capability, place: number): string {
  const { subject, issuer, constraints } = grant;
  const conditions = [
    `context.authority in ${principal(issuer)}`,
    ...(resource.owner === undefined ? [] : [`context.owner in ${principal(resource.owner)}`]),
    ...(constraints.purposes === undefined ? [] : [`${setOf(constraints.purposes)}.contains(context.purpose)`]),
    `context.now >= ${instant(Math.ceil(from))}`,
    ...(until === Infinity ? [] : [`context.now < ${instant(Math.floor(until))}`]),
  ];
  const named = actions.map((action) => `Action::${quoted(action)}`).join(", ");
  return [
    `@id(${nameOf(grant.id, place)})`,
    "permit (",
    `  principal == ${principal(subject)},`,
    `  ${actions.includes("*") ? "action" : `action in [${named}]`},`,
    `  resource ${scope === "exact" ? "==" : "in"} ${literal(placeEntity(resource))}`,
    ") when {",
    `  ${conditions.join(" &&\n  ")}`,
    "};",
  ].join("\n");
}

/** A policy that is only read. */
function commented(grantId: string, place: number, conditions: readonly string[], policy: string): string {
  const reason = `${nameOf(grantId, place)} is left out, because Cedar has no words for: ${conditions.join(", ")}.`;
  return [reason, ...(policy === "" ? [] : policy.split("\n"))].map((line) => `// ${line}`).join("\n");
}

/** Capabilities are counted from 1, as people count. */
function nameOf(grantId: string, place: number): string {
  return quoted(`${grantId}#${place + 1}`);
}

/** The place of a capability, and all above it. */
function placesOf({ resource: { namespace, path } }: Capability): CedarEntity[] {
  const all = [...path.map((_segment, depth) => path.slice(0, depth)), path].map((one) =>
    placeEntity({ namespace, path: one }),
  );
  return all.map((uid, depth) => ({ uid, attrs: {}, parents: all.slice(0, depth) }));
}

function partiesOf(principals: readonly (PrincipalRef | undefined)[]): CedarEntity[] {
  const known = principals.filter((one) => one !== undefined);
  return known.map((one) => ({ uid: partyEntity(one), attrs: {}, parents: [principalEntity(one)] }));
}

function principal(one: PrincipalRef): string {
  return literal(principalEntity(one));
}

function setOf(texts: readonly string[]): string {
  return `[${texts.map(quoted).join(", ")}]`;
}

/** Years of four digits, which Cedar reads. */
const [firstInstant, lastInstant] = [-62_135_596_800_000, 253_402_300_799_999];

function instant(milliseconds: number): string {
  return milliseconds >= firstInstant && milliseconds <= lastInstant
    ? `datetime(${quoted(new Date(milliseconds).toISOString())})`
    : `datetime("1970-01-01").offset(duration("${milliseconds}ms"))`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
