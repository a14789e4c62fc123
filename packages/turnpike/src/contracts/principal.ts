import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { IdentifierSchema } from "./scalars.ts";

export const AgentRefSchema = strictObject({ kind: z.literal("agent"), agentId: IdentifierSchema });

/** An agent, the one kind of principal that runs turns. */
export type AgentRef = z.infer<typeof AgentRefSchema>;

export const PrincipalRefSchema = z.discriminatedUnion("kind", [
  strictObject({ kind: z.literal("human"), userId: IdentifierSchema }),
  AgentRefSchema,
  strictObject({ kind: z.literal("group"), conversationId: IdentifierSchema }),
  strictObject({ kind: z.literal("service"), serviceId: IdentifierSchema }),
]);

/** Someone who acts, owns, issues or reviews. */
export type PrincipalRef = z.infer<typeof PrincipalRefSchema>;

/**
 * The id of a principal, whatever its kind calls it.
 *
 * @example
 * import { principalId } from "turnpike/contracts";
 *
 * console.log(principalId({ kind: "agent", agentId: "helper" })); // helper
 */
export function principalId(principal: PrincipalRef): string {
  switch (principal.kind) {
    case "human":
      return principal.userId;
    case "agent":
      return principal.agentId;
    case "group":
      return principal.conversationId;
    case "service":
      return principal.serviceId;
  }
}

/**
 * One string per principal: equal keys mean equal principals.
 *
 * @example
 * import { principalKey } from "turnpike/contracts";
 *
 * console.log(principalKey({ kind: "agent", agentId: "helper" })); // agent:helper
 */
export function principalKey(principal: PrincipalRef): string {
  return `${principal.kind}:${principalId(principal)}`;
}

/**
 * Principals are the same when kind and id are equal.
 *
 * @example
 * import { samePrincipal } from "turnpike/contracts";
 *
 * console.log(samePrincipal({ kind: "human", userId: "a" }, { kind: "agent", agentId: "a" })); // false
 */
export function samePrincipal(one: PrincipalRef, other: PrincipalRef): boolean {
  return one.kind === other.kind && principalId(one) === principalId(other);
}

const idKeys = { human: "userId", agent: "agentId", group: "conversationId", service: "serviceId" } as const;

/**
 * Splits `human:alice`, as people and headers write a principal; undefined when it is none.
 *
 * @example
 * import { parsePrincipal } from "turnpike/contracts";
 *
 * console.log(parsePrincipal("human:alice")); // { kind: 'human', userId: 'alice' }
 * console.log(parsePrincipal("alice")); // undefined
 */
export function parsePrincipal(text: string): PrincipalRef | undefined {
  const colon = text.indexOf(":");
  const kind = text.slice(0, colon);
  if (!Object.hasOwn(idKeys, kind)) return undefined;
  const parsed = PrincipalRefSchema.safeParse({ kind, [idKeys[kind as keyof typeof idKeys]]: text.slice(colon + 1) });
  return parsed.success ? parsed.data : undefined;
}
