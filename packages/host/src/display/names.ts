import type { PrincipalRef, ResourceRef } from "turnpike/contracts";

const idKeys = { human: "userId", agent: "agentId", group: "conversationId", service: "serviceId" } as const;

/** A principal as `kind:id`: the form of flags, addresses and filters. */
export function principalText(principal: PrincipalRef): string {
  return `${principal.kind}:${String((principal as Record<string, unknown>)[idKeys[principal.kind]])}`;
}

/** The principal of a `kind:id`; undefined when the kind is none. */
export function parsePrincipalText(text: string): PrincipalRef | undefined {
  const [, kind = "", id = ""] = /^([a-z]+):(.+)$/s.exec(text.trim()) ?? [];
  if (!Object.hasOwn(idKeys, kind)) return undefined;
  return { kind, [idKeys[kind as PrincipalRef["kind"]]]: id } as PrincipalRef;
}

/** A resource as `namespace/step/step`: the form of flags, addresses and filters. */
export function resourceText({ namespace, path }: ResourceRef): string {
  return [namespace, ...path].join("/");
}

/** Reads `files/notes` as the path `notes` in the namespace `files`; undefined when a step of the path is empty. */
export function parseResourceText(text: string): { namespace: string; path: string[] } | undefined {
  const [namespace = "", ...path] = text.replace(/\/$/, "").split("/");
  return path.includes("") ? undefined : { namespace, path };
}

/**
 * A name inside a sentence: in quotes when it could be taken for more than one name, or for a part of the sentence. Of the
 * names that are joined with slashes none has one in it.
 */
export function nameText(name: string, isStep = false): string {
  const isClear = /^[^\s",;()]+$/u.test(name) && !(isStep && (name.includes("/") || name === "**"));
  return isClear ? name : JSON.stringify(name);
}

/** A principal inside a sentence. */
export function whoText(principal: PrincipalRef): string {
  return nameText(principalText(principal));
}

/** A resource inside a sentence, with its owner where it names one. */
export function whereText({ namespace, path, owner }: ResourceRef, below = ""): string {
  const steps = [namespace, ...path].map((step) => nameText(step, true)).join("/");
  return `${steps}${below}${owner === undefined ? "" : ` of ${whoText(owner)}`}`;
}
