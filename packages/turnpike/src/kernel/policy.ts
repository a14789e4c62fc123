import {
  JsonObjectSchema,
  type AccessContext,
  type AuthorizationRequest,
  type JsonObject,
} from "../contracts/index.ts";
import { check } from "../internal/index.ts";
import { reportPortError, type Ports } from "./call-port.ts";

/** The answer of the policy. It is asked at most once for each decision, and only about what a grant allows. */
export type PolicyVerdict = { kind: "kept" } | { kind: "denied"; metadata?: JsonObject } | { kind: "unavailable" };

/** Why the policy lets no grant carry the act; undefined when it leaves the decision as it is. */
export function policyRefusal(verdict: PolicyVerdict): "host_policy_denied" | "host_policy_unavailable" | undefined {
  if (verdict.kind === "kept") return undefined;
  return verdict.kind === "denied" ? "host_policy_denied" : "host_policy_unavailable";
}

/** Asks the host's policy, whose only possible answer is the reason of a refusal. */
export function askPolicy(ports: Ports, request: AuthorizationRequest, context: AccessContext): PolicyVerdict {
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
