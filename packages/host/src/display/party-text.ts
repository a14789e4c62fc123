import type { PrincipalRef } from "turnpike/contracts";
import { whoText } from "./names.ts";

/** Who is behind something besides its actor, as an escalation and the metadata of an event say it. */
interface Parties {
  triedBy?: unknown;
  askedBy?: unknown;
}

/** Who tried something in another one's place, or asked about it: `tried by human:oona`. Empty when no one did. */
export function partiesText({ triedBy, askedBy }: Parties = {}): string {
  return [said("tried by", triedBy), said("asked by", askedBy)].filter(Boolean).join(", ");
}

/** That those who tried an act, or asked about it, are no ones to answer it. Empty when no one did. */
export function partiesNote(parties: Parties): string {
  const text = partiesText(parties);
  return text === "" ? "" : `It was ${text}, who cannot answer it.`;
}

function said(how: string, parties: unknown): string {
  const all = parties === undefined ? [] : ([parties].flat() as { actor: PrincipalRef }[]);
  return all.length === 0 ? "" : `${how} ${all.map(({ actor }) => whoText(actor)).join(" and ")}`;
}

/** Why an approval no longer counts. */
const dropReasons = {
  credential_unknown: "it is not known with which credential it was given",
  credential_revoked: "the credential that it was given with was revoked",
  credential_expired: "the credential that it was given with has expired",
  not_a_reviewer: "the credential that it was given with is no reviewer's of this tenant",
  takes_part: "they tried the act, or asked about it, themselves",
} as const;

interface DroppedApproval {
  by: PrincipalRef;
  at: string;
  why: keyof typeof dropReasons;
}

/** That approvals no longer count, and why. `instant` writes the time of one. */
export function droppedTexts(
  { dropped = [] }: { dropped?: readonly DroppedApproval[] | undefined },
  instant = (at: string): string => at,
): string[] {
  return dropped.map(
    ({ by, at, why }) => `The approval of ${whoText(by)} at ${instant(at)} no longer counts: ${dropReasons[why]}.`,
  );
}
