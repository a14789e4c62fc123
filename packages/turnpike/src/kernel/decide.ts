import {
  JsonObjectSchema,
  type AccessContext,
  type AuthorizationRequest,
  type JsonObject,
  type ReasonCode,
} from "../contracts/index.ts";
import { check } from "../internal/index.ts";
import type { CompiledGrant, Moment } from "./active.ts";
import { callPort, reportPortError, type Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import { candidates } from "./candidates.ts";
import { walkChain, type ChainVerdict } from "./chain.ts";
import type { UsageStore } from "./ports.ts";

/** Why a covering grant did not carry the act. */
export type Refusal = Extract<
  ReasonCode,
  | "usage_store_unavailable"
  | "host_policy_unavailable"
  | "delegation_chain_unverified"
  | "delegation_chain_invalid"
  | "host_policy_denied"
  | "grant_exhausted"
>;

/** What the policy said; asked once a decision, and only about what a grant allows. */
type PolicyVerdict = { kind: "kept" } | { kind: "denied"; metadata?: JsonObject } | { kind: "unavailable" };

/** What was seen of a covering grant. */
interface Finding {
  refusal: Refusal | undefined;
  /** The walk up its delegation chain, if it has one. */
  chain: ChainVerdict | undefined;
}

/** A decision, with all that was looked at to reach it. */
export type Decision = { findings: ReadonlyMap<CompiledGrant, Finding>; policy?: PolicyVerdict | undefined } & (
  | { kind: "allow"; grant: CompiledGrant; view: AuthorityView }
  | { kind: "deny"; reason: Exclude<ReasonCode, "allowed">; metadata?: JsonObject }
);

/** Takes a use of a bounded grant, or only looks whether one is left. */
export type Spend = (ports: Ports, grant: CompiledGrant, signal: AbortSignal) => Promise<Refusal | undefined>;

/** What a decision is made of. */
export interface DecisionInput {
  ports: Ports;
  view: AuthorityView;
  context: AccessContext;
  request: AuthorizationRequest;
  moment: Moment;
  spend: Spend;
  signal: AbortSignal;
}

/** Of several refusals the first of these is the reason. */
const refusalOrder: readonly Refusal[] = [
  "usage_store_unavailable",
  "host_policy_unavailable",
  "delegation_chain_unverified",
  "delegation_chain_invalid",
  "host_policy_denied",
  "grant_exhausted",
];

const noFindings: ReadonlyMap<CompiledGrant, Finding> = new Map();

/** A denial that looked at no grant. */
export function deny(reason: Exclude<ReasonCode, "allowed">): Decision {
  return { kind: "deny", reason, findings: noFindings };
}

/** Tries the candidates in order: chain, policy, uses. The first that survives carries the act. */
export function decide(input: DecisionInput): Decision | Promise<Decision> {
  const { ports, view, request, moment } = input;
  const covering = candidates(view, request, moment);
  const [first] = covering;
  if (first === undefined) return deny("no_matching_grant");
  if (ports.policy === undefined && isUnconditional(first))
    return { kind: "allow", grant: first, view, findings: noFindings };
  return tryEach(input, covering);
}

async function tryEach(input: DecisionInput, covering: readonly CompiledGrant[]): Promise<Decision> {
  const { ports, view, spend, signal } = input;
  const examination: Examination = { findings: new Map(), policy: undefined };
  for (const grant of covering) {
    const { chain, refusal: refused } = await examine(input, grant, examination);
    const isSpent = refused === undefined && grant.maxUses !== undefined;
    const refusal = isSpent ? await spend(ports, grant, signal) : refused;
    examination.findings.set(grant, { chain, refusal });
    if (refusal === undefined) return { kind: "allow", grant, view, ...examination };
  }
  return denyAll(examination);
}

/** A decision that is made if the use of its grant is left. */
export interface Choice {
  decision: Decision;
  use?: CompiledGrant;
}

/** What a decision comes to, in order: the first whose use is left counts, and the last needs none. */
export function choose(input: Omit<DecisionInput, "spend">): Choice[] | Promise<Choice[]> {
  const { ports, view, request, moment } = input;
  const covering = candidates(view, request, moment);
  const [first] = covering;
  if (first === undefined) return [{ decision: deny("no_matching_grant") }];
  if (ports.policy === undefined && isUnconditional(first))
    return [{ decision: { kind: "allow", grant: first, view, findings: noFindings } }];
  return chooseEach(input, covering);
}

async function chooseEach(input: Omit<DecisionInput, "spend">, covering: readonly CompiledGrant[]): Promise<Choice[]> {
  const choices: Choice[] = [];
  const examination: Examination = { findings: new Map(), policy: undefined };
  for (const grant of covering) {
    const finding = await examine(input, grant, examination);
    if (finding.refusal !== undefined) {
      examination.findings.set(grant, finding);
      continue;
    }
    const { policy } = examination;
    const findings = new Map(examination.findings).set(grant, finding);
    const decision: Decision = { kind: "allow", grant, view: input.view, findings, policy };
    if (grant.maxUses === undefined) return [...choices, { decision }];
    choices.push({ decision, use: grant });
    // What follows counts only if no use of this one is left.
    examination.findings.set(grant, { ...finding, refusal: "grant_exhausted" });
  }
  return [...choices, { decision: denyAll(examination) }];
}

/** What was found so far. */
interface Examination {
  findings: Map<CompiledGrant, Finding>;
  policy: PolicyVerdict | undefined;
}

/** Whether a covering grant can carry the act, besides its uses. */
async function examine(
  input: Omit<DecisionInput, "spend">,
  grant: CompiledGrant,
  examination: Examination,
): Promise<Finding> {
  const { ports, moment, signal } = input;
  const chain = grant.grant.parentId === undefined ? undefined : await walkChain(ports, grant, moment, signal);
  const refusal = chainRefusal(chain);
  if (refusal !== undefined) return { chain, refusal };
  examination.policy ??= askPolicy(input);
  return { chain, refusal: policyRefusal(examination.policy) };
}

/** The denial of an act that no grant carries. */
function denyAll({ findings, policy }: Examination): Decision {
  const reason =
    refusalOrder.find((one) => [...findings.values()].some(({ refusal }) => refusal === one)) ?? "no_matching_grant";
  const metadata = reason === "host_policy_denied" && policy?.kind === "denied" ? policy.metadata : undefined;
  return { kind: "deny", reason, findings, policy, ...(metadata && { metadata }) };
}

function isUnconditional({ grant, maxUses }: CompiledGrant): boolean {
  return maxUses === undefined && grant.parentId === undefined;
}

/** Why a chain lets its grant carry nothing; undefined when it is valid, or there is none. */
export function chainRefusal(chain: ChainVerdict | undefined): Refusal | undefined {
  if (chain === undefined || chain.kind === "valid") return undefined;
  return chain.kind === "unverified" ? "delegation_chain_unverified" : "delegation_chain_invalid";
}

function policyRefusal(verdict: PolicyVerdict): Refusal | undefined {
  if (verdict.kind === "kept") return undefined;
  return verdict.kind === "denied" ? "host_policy_denied" : "host_policy_unavailable";
}

function askPolicy({ ports, request, context }: Omit<DecisionInput, "spend">): PolicyVerdict {
  if (ports.policy === undefined) return { kind: "kept" };
  try {
    const answer: unknown = ports.policy.narrow(request, context);
    if (answer === undefined) return { kind: "kept" };
    return { kind: "denied", ...policyReason(answer) };
  } catch (error) {
    reportPortError(ports, error, { port: "policy" });
    return { kind: "unavailable" };
  }
}

function policyReason(answer: unknown): { metadata?: JsonObject } {
  if (answer instanceof Promise) answer.catch(() => {});
  const checked = check(JsonObjectSchema, answer);
  if (!checked.ok) throw new TypeError(`The policy gave no usable answer: ${checked.message}`);
  const { metadata, ...unknown } = checked.value;
  if (Object.keys(unknown).length > 0) throw new TypeError("The policy's answer has more than metadata.");
  if (metadata === undefined) return {};
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata))
    throw new TypeError("The policy's metadata cannot be used: expected object");
  return { metadata };
}

/** Looks whether a use is left; takes none. */
export const peek: Spend = (ports, { grant, maxUses = 0 }, signal) =>
  askUsage(
    ports,
    grant.id,
    signal,
    (usage) => usage.used(grant.namespaceId, grant.id),
    (used) => readCount(used) < maxUses,
  );

/** Takes one use, atomically. */
export const consume: Spend = (ports, { grant, maxUses = 0 }, signal) =>
  askUsage(ports, grant.id, signal, (usage) => usage.consume(grant.namespaceId, grant.id, maxUses), readBoolean);

/** Undefined when a use was left or taken. */
async function askUsage(
  ports: Ports,
  grantId: string,
  signal: AbortSignal,
  call: (usage: UsageStore) => Promise<unknown>,
  read: (said: unknown) => boolean,
): Promise<Refusal | undefined> {
  signal.throwIfAborted();
  const { usage } = ports;
  if (usage === undefined) return "usage_store_unavailable";
  const answer = await callPort(ports, { port: "usage", id: grantId }, signal, () => call(usage), read);
  if (!answer.ok) return "usage_store_unavailable";
  return answer.value ? undefined : "grant_exhausted";
}

function readCount(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new TypeError("The usage store gave no usable answer.");
}

function readBoolean(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError("The usage store gave no usable answer.");
}
