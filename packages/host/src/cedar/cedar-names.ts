import { principalId, principalKey, type PrincipalRef, type ResourceRef } from "turnpike/contracts";

/** An entity as JSON names it. */
export interface EntityId {
  type: "Human" | "Agent" | "Group" | "Service" | "Party" | "Place";
  id: string;
}

const typeOf = { human: "Human", agent: "Agent", group: "Group", service: "Service" } as const;

/** An entity for each principal. */
export function principalEntity(principal: PrincipalRef): EntityId {
  return { type: typeOf[principal.kind], id: principalId(principal) };
}

/** The party that is in no principal but this one. */
export function partyEntity(principal: PrincipalRef): EntityId {
  return { type: "Party", id: principalKey(principal) };
}

/** A segment has no slash, and neither has an encoded namespace, so that places have the same name only when they are the same. */
export function placeEntity({ namespace, path }: Pick<ResourceRef, "namespace" | "path">): EntityId {
  return { type: "Place", id: [encodeURIComponent(namespace), ...path].join("/") };
}

/** An entity as policies name it. */
export function literal({ type, id }: EntityId): string {
  return `${type}::${quoted(id)}`;
}

const escaped = /["\\\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text as Cedar writes it. Everything that could end a line or hide something is escaped, so that it is safe in a comment too. */
export function quoted(text: string): string {
  const content = text.replaceAll(escaped, (one) =>
    one === '"' || one === "\\" ? `\\${one}` : `\\u{${(one.codePointAt(0) as number).toString(16)}}`,
  );
  return `"${content}"`;
}
