import type { GrantEntry } from "turnpike-host/admin-contract";
import { principalOf, principalText, resourceText } from "../../shared/words.ts";

/** What the operator wants to see of the grants. */
export interface GrantFilter {
  subject: string;
  resource: string;
  state: string;
}

/** The filter as the host knows it: a whole principal, and the namespace of a resource. */
export function queryOf({ subject, resource, state }: GrantFilter) {
  const holder = principalOf(subject);
  const [namespace = ""] = resource.split("/");
  return {
    ...(holder && { subject: principalText(holder) }),
    ...(namespace !== "" && { resource: namespace }),
    ...(state !== "" && { state }),
  };
}

/** Whether a grant is wanted, by the page itself: a part of a name will do. */
export function isWanted({ subject, resource, state }: GrantFilter, entry: GrantEntry): boolean {
  const { grant } = entry;
  return (
    principalText(grant.subject).includes(subject) &&
    grant.capabilities.some((capability) => resourceText(capability.resource).startsWith(resource)) &&
    (state === "" || entry.state === state)
  );
}
