import type { Capability, Grant, PrincipalRef, ResourceRef } from "turnpike/contracts";

const idKeys = { human: "userId", agent: "agentId", group: "conversationId", service: "serviceId" } as const;

/** A principal as `kind:id`. The contracts' own would bring every schema with it. */
export function principalText(principal: PrincipalRef): string {
  return `${principal.kind}:${String((principal as Record<string, unknown>)[idKeys[principal.kind]])}`;
}

/** Who tried something as somebody else, or asked about it, as an escalation and the trail say it; empty when nobody did. */
export function partiesText({ triedBy, askedBy }: { triedBy?: unknown; askedBy?: unknown } = {}): string {
  const said = (how: string, parties: unknown): string => {
    const all = parties === undefined ? [] : ([parties].flat() as { actor: PrincipalRef }[]);
    return all.length === 0 ? "" : `${how} ${all.map(({ actor }) => principalText(actor)).join(" and ")}`;
  };
  return [said("tried by", triedBy), said("asked by", askedBy)].filter(Boolean).join(", ");
}

/** The principal of a `kind:id`; undefined when the kind is none. */
export function principalOf(text: string): PrincipalRef | undefined {
  const [, kind = "", id = ""] = /^([a-z]+):(.+)$/.exec(text.trim()) ?? [];
  if (!Object.hasOwn(idKeys, kind)) return undefined;
  return { kind, [idKeys[kind as PrincipalRef["kind"]]]: id } as PrincipalRef;
}

/** A resource as `namespace/step/step`. */
export function resourceText({ namespace, path }: ResourceRef): string {
  return [namespace, ...path].join("/");
}

/** The resource of a `namespace/step/step`. */
export function resourceOf(text: string): ResourceRef {
  const [namespace = "", ...path] = text
    .trim()
    .split("/")
    .filter((step) => step !== "");
  return { namespace, path };
}

/** A capability as `read, list files/notes/**`. */
export function capabilityText({ actions, resource, scope }: Capability): string {
  return `${actions.join(", ")} ${resourceText(resource)}${scope === "descendants" ? "/**" : ""}`;
}

/** What a grant allows, in one line. */
export function grantText({ capabilities }: Pick<Grant, "capabilities">): string {
  return capabilities.map(capabilityText).join("; ");
}

/** A number with the word for what is counted. */
export function count(number: number, what: string): string {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(words: readonly string[], last = "and"): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
