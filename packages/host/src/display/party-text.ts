import type { PrincipalRef } from "turnpike/contracts";
import { whoText } from "./names.ts";

/** Who is behind something besides its actor, as an escalation and the metadata of an event say it. */
interface Parties {
  triedBy?: unknown;
  askedBy?: unknown;
}

/** Who tried something as somebody else, or asked about it: `tried by human:oona`. Empty when nobody did. */
export function partiesText({ triedBy, askedBy }: Parties = {}): string {
  return [said("tried by", triedBy), said("asked by", askedBy)].filter(Boolean).join(", ");
}

function said(how: string, parties: unknown): string {
  const all = parties === undefined ? [] : ([parties].flat() as { actor: PrincipalRef }[]);
  return all.length === 0 ? "" : `${how} ${all.map(({ actor }) => whoText(actor)).join(" and ")}`;
}
