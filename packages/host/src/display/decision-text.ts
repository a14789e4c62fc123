import type { PrincipalRef, ResourceRef } from "turnpike/contracts";
import { requestText } from "./grant-text.ts";
import { nameText, whereText } from "./names.ts";

/** What was decided about, with whose resource that is: what names no owner is its holder's. */
export function decidedText(request: { action: string; resource: ResourceRef }, holder: PrincipalRef): string {
  const { owner = holder } = request.resource;
  return requestText({ ...request, resource: { ...request.resource, owner } });
}

/** What a row of the audit log is about, as far as it says: `read files/notes of human:alice`. */
export function aboutText({ action, resource }: RowSubject): string {
  if (action === undefined || action === "") return resource === undefined ? "" : whereText(resource);
  return resource === undefined ? nameText(action) : requestText({ action, resource });
}

interface RowSubject {
  action?: string | undefined;
  resource?: ResourceRef | undefined;
}
