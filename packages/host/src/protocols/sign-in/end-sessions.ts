import { principalKey } from "turnpike/contracts";
import { createOperator, type Operator, secretHashOf } from "../../access/index.ts";
import type { IdentityProvider, PersonKind } from "../../people/index.ts";
import type { SignInServices } from "./sign-in-services.ts";

/**
 * Ends the sessions of whom a user was and is no more, by what their provider says now: an operator, or a person of another tenant.
 */
export async function endFormer(
  services: SignInServices,
  { config }: IdentityProvider,
  { kind, sub, except }: { kind: PersonKind; sub: string; except?: string },
  requestId: string,
): Promise<void> {
  const { people, ports } = services;
  const former = (await people.credentialsOf(config.issuer, sub, kind)).filter((id) => id !== except);
  if (former.length === 0) return;
  const ended = await ports.sessions.endOfProvider({ credentialIds: former });
  for (const session of ended ?? []) await recordEnd(services, session, requestId);
}

/** Records that a provider ended a session. */
export async function recordEnd(
  { people, ports }: SignInServices,
  { id, credentialId }: { id: string; credentialId: string },
  requestId: string,
): Promise<void> {
  const person = await people.findBy(credentialId);
  if (person === undefined) return;
  const actor = { kind: "service", serviceId: "sign-in" } as const;
  const self: Operator = createOperator({ id: "sign-in", actor, role: "reviewer", requestId }, ports.audit, (error) =>
    ports.onAuditError(error),
  );
  const metadata = { session: id, by: "provider", person: principalKey(person.principal) };
  await self.recordMade([{ namespaceId: person.namespaceId, action: "session.end", metadata }]);
}

/** What a session is found by when its provider ends the one that it came from. */
export function providerSessionHash(issuer: string, sid: unknown): string | undefined {
  return typeof sid === "string" && sid !== "" ? secretHashOf(`${issuer}\n${sid}`) : undefined;
}
