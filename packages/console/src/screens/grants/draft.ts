import type { Capability, Constraints, Grant, PrincipalRef } from "turnpike/contracts";
import { endOf } from "../../shared/instants.ts";
import { principalOf, principalText, resourceOf, resourceText } from "../../shared/words.ts";

/** One capability as it is typed. */
export interface DraftCapability {
  resource: string;
  owner: string;
  /** With commas or spaces between them. */
  actions: string;
  isExact: boolean;
  asksEachTime: boolean;
}

/** A grant as it is typed. */
export interface Draft {
  id: string;
  subject: string;
  /** Of a grant that is derived, the holder of its parent. */
  issuer: string;
  parentId?: string;
  capabilities: readonly DraftCapability[];
  /** With commas between them. */
  purposes: string;
  /** A span such as `1h`, or a time. */
  expires: string;
  uses: string;
  depth: string;
}

export const emptyCapability: DraftCapability = {
  resource: "",
  owner: "",
  actions: "",
  isExact: false,
  asksEachTime: false,
};

/** A draft with nothing typed but its id. */
export function emptyDraft(id: string): Draft {
  const terms = { purposes: "", expires: "", uses: "", depth: "" };
  return { id, subject: "", issuer: "", capabilities: [emptyCapability], ...terms };
}

/** An id that no other grant has. */
export function freshId(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(6));
  return `grant-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** A draft that is a child of this grant and as wide as it: to be narrowed. */
export function draftBelow(parent: Grant, id: string): Draft {
  const { purposes = [], expiresAt = "", delegationDepth = 0 } = parent.constraints;
  return {
    id,
    subject: "",
    issuer: principalText(parent.subject),
    parentId: parent.id,
    capabilities: parent.capabilities.map(({ resource, actions, scope, approval }) => ({
      resource: resourceText(resource),
      owner: resource.owner === undefined ? "" : principalText(resource.owner),
      actions: actions.join(", "),
      isExact: scope === "exact",
      asksEachTime: approval === "each",
    })),
    purposes: purposes.join(", "),
    expires: expiresAt,
    uses: "",
    depth: String(Math.max(0, delegationDepth - 1)),
  };
}

/** What is still wrong, by what it is wrong with. */
export type DraftProblems = Readonly<Record<string, string>>;

/** The grant that a draft describes, or what it still lacks. The host checks it again, and more. */
export function grantOf(draft: Draft, namespaceId: string, now: Date): { grant: Grant } | { problems: DraftProblems } {
  const problems: Record<string, string> = {};
  const principal = (field: string, text: string): PrincipalRef => {
    const found = principalOf(text);
    if (found === undefined) problems[field] = "Write kind:id, such as agent:assistant.";
    return found ?? { kind: "human", userId: "" };
  };
  const count = (field: string, text: string, least: number): number => {
    if (!/^\d{1,9}$/.test(text.trim()) || Number(text) < least) problems[field] = `Write a whole number from ${least}.`;
    return Number(text);
  };
  const capability = (typed: DraftCapability, place: number): Capability => {
    const actions = wordsOf(typed.actions, /[\s,]+/);
    const resource = resourceOf(typed.resource);
    if (actions.length === 0) problems[`actions ${place}`] = "Write at least one action, such as read.";
    if (resource.namespace === "") problems[`resource ${place}`] = "Write a namespace and a path, such as files/notes.";
    const owner = typed.owner.trim() === "" ? {} : { owner: principal(`owner ${place}`, typed.owner) };
    return {
      resource: { ...resource, ...owner },
      actions,
      scope: typed.isExact ? "exact" : "descendants",
      ...(typed.asksEachTime && { approval: "each" as const }),
    };
  };
  const purposes = wordsOf(draft.purposes, /,/);
  const expiresAt = draft.expires.trim() === "" ? undefined : endOf(draft.expires, now.getTime());
  if (draft.expires.trim() !== "" && expiresAt === undefined)
    problems["expires"] = "Write a span such as 1h or 7d, or a time such as 2026-01-31T12:00:00Z.";
  const constraints: Constraints = {
    ...(purposes.length > 0 && { purposes }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(draft.uses.trim() !== "" && { maxUses: count("uses", draft.uses, 1) }),
    ...(draft.depth.trim() !== "" && { delegationDepth: count("depth", draft.depth, 0) }),
  };
  if (draft.id.trim() === "") problems["id"] = "Write an id that no grant has.";
  const grant: Grant = {
    id: draft.id.trim(),
    namespaceId,
    subject: principal("subject", draft.subject),
    issuer: principal("issuer", draft.issuer),
    capabilities: draft.capabilities.map(capability),
    constraints,
    issuedAt: now.toISOString(),
    ...(draft.parentId !== undefined && { parentId: draft.parentId }),
  };
  return Object.keys(problems).length > 0 ? { problems } : { grant };
}

/** What derives a grant. Its issuer is the holder of its parent, and what it does not restate is its parent's. */
export function derivationOf({ parentId = "", id, subject, capabilities, constraints }: Grant) {
  return { parentId, id, subject, capabilities, constraints };
}

/** What is previewed of a grant: that it is issued, or derived. */
export function changeOf(grant: Grant): { draft: Grant } | { derive: ReturnType<typeof derivationOf> } {
  return grant.parentId === undefined ? { draft: grant } : { derive: derivationOf(grant) };
}

function wordsOf(text: string, between: RegExp): string[] {
  return text
    .split(between)
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
