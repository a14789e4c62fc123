import {
  principalId,
  type Capability,
  type Constraints,
  type PrincipalRef,
  type ResourceRef,
} from "turnpike/contracts";
import { unprintable } from "../base/index.ts";

/** A principal in short form: `human:alice`. */
export function principalText(principal: PrincipalRef): string {
  return `${principal.kind}:${principalId(principal)}`;
}

/** A resource in short form: its namespace, then its path. */
export function resourceText({ namespace, path }: ResourceRef): string {
  return [namespace, ...path].join("/");
}

/** A capability in short form. */
export function capabilityText({ resource, actions, scope, approval }: Capability): string {
  const below = scope === "descendants" ? "/**" : "";
  const owner = resource.owner === undefined ? "" : ` of ${principalText(resource.owner)}`;
  const needs = approval === undefined ? "" : " (needs approval)";
  return `${actions.join(",")} ${resourceText(resource)}${below}${owner}${needs}`;
}

/** The constraints of a grant in short form. */
export function constraintsText({ purposes, notBefore, expiresAt, maxUses, delegationDepth }: Constraints): string {
  const parts = [
    purposes && `for ${purposes.join(" or ")}`,
    notBefore && `from ${notBefore}`,
    expiresAt && `until ${expiresAt}`,
    maxUses !== undefined && (maxUses === 1 ? "1 use" : `${maxUses} uses`),
    delegationDepth !== undefined && `delegable ${delegationDepth}`,
  ];
  return parts.filter((part) => typeof part === "string").join(", ");
}

/** Whether a shell can pass a word on unchanged: no argument can hold NUL or half of a surrogate pair. */
export function isPasteable(word: string): boolean {
  return !word.includes("\0") && !/\p{Cs}/u.test(word);
}

/** A command line that can be pasted. Words that are not plain are quoted, and control characters are escaped. */
export function commandLine(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

const unprintableOne = new RegExp(unprintable, "u");

const unprintableAll = new RegExp(unprintable, "gu");

function quote(word: string): string {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word)) return word;
  if (!unprintableOne.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  const shown = word
    .replaceAll(/[\\']/g, "\\$&")
    .replaceAll(unprintableAll, (character) =>
      [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
    );
  return `$'${shown}'`;
}
