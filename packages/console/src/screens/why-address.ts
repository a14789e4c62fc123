import type { PrincipalRef, ResourceRef } from "turnpike/contracts";
import { addressOf } from "../shared/place.ts";
import { principalText, resourceText } from "../shared/words.ts";

/** What the screen *Why* is filled with: a trace whose last denial it explains, and an act. */
export interface WhyQuestion {
  traceId?: string | undefined;
  actor: PrincipalRef;
  authority?: PrincipalRef | undefined;
  owner?: PrincipalRef | undefined;
  purpose?: string | undefined;
  action?: string | undefined;
  resource?: ResourceRef | undefined;
}

/** The address of the screen *Why*, filled in. */
export function whyAddress({ traceId, actor, authority, owner, purpose, action, resource }: WhyQuestion): string {
  return addressOf(["why"], {
    traceId,
    actor: principalText(actor),
    authority: authority && principalText(authority),
    owner: owner && principalText(owner),
    purpose,
    action,
    resource: resource && resourceText(resource),
  });
}
