import type { AuditEvent, PrincipalRef, ResourceRef } from "turnpike/contracts";
import { parseResourceText } from "../display/index.ts";

/** Which events of an audit log to list, as the management API names it. This file imports no schema. */
export interface EventFilter {
  from?: string | undefined;
  until?: string | undefined;
  /** `kind:id`. */
  actor?: string | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  traceId?: string | undefined;
  /** A place, such as `files/notes`, and everything below it. */
  resource?: string | undefined;
  tool?: string | undefined;
  /** What names the grant, or a grant that was derived from it. */
  grant?: string | undefined;
  reason?: string | undefined;
  /** What the event has anywhere, in letters of either case. */
  text?: string | undefined;
}

/** The filters that no column of the audit table answers: the content of the event is searched for them. */
export interface EventDetails extends Pick<EventFilter, "tool" | "grant" | "reason" | "text"> {
  resource?: ResourceRef | undefined;
}

/** Whether an event is one of those that a list with this filter has. */
export function eventFits(event: AuditEvent, filter: EventFilter): boolean {
  const { from, until, actor, type, outcome, traceId, resource, ...details } = filter;
  const at = Date.parse(event.at);
  const place = resource === undefined ? undefined : parseResourceText(resource);
  return (
    (from === undefined || at >= Date.parse(from)) &&
    (until === undefined || at < Date.parse(until)) &&
    (actor === undefined || nameOf(event.actor) === actor) &&
    (type === undefined || event.type === type) &&
    (outcome === undefined || event.outcome === outcome) &&
    (traceId === undefined || event.traceId === traceId) &&
    (resource === undefined || place !== undefined) &&
    detailsFit(event, { ...details, resource: place })
  );
}

/** The same for the filters on the content of the event. */
export function detailsFit(event: AuditEvent, { resource, tool, grant, reason, text }: EventDetails): boolean {
  return (
    (tool === undefined || event.tool === tool) &&
    (grant === undefined || event.grantId === grant || event.metadata?.["parentId"] === grant) &&
    (reason === undefined || event.reason === reason) &&
    (resource === undefined || isWithin(event.resource, resource)) &&
    (text === undefined || comparable(shownText(event)).includes(comparable(text)))
  );
}

function isWithin(resource: ResourceRef | undefined, { namespace, path }: ResourceRef): boolean {
  return resource?.namespace === namespace && path.every((step, place) => resource.path[place] === step);
}

/** An event as people see it: names as `kind:id`, a resource as its path, and what else was recorded as JSON. */
function shownText(event: AuditEvent): string {
  const { actor, authority, owner, receiver, resource, metadata, ...rest } = event;
  const names = [actor, authority, owner, receiver].map((principal) => principal && nameOf(principal));
  const place = resource && [resource.namespace, ...resource.path].join("/");
  const owned = resource?.owner && nameOf(resource.owner);
  return [...Object.values(rest), ...names, place, owned, metadata && JSON.stringify(metadata)].join("\n");
}

/** Two spellings of one letter are the same, and so are the cases. */
function comparable(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** `kind:id`: a principal has its kind and one id, whatever that is called. */
function nameOf({ kind, ...id }: PrincipalRef): string {
  return `${kind}:${Object.values(id).join("")}`;
}
