import type { AccessContext } from "../contracts/index.ts";
import { recordOutcome } from "./audit.ts";
import type { AuthorityView } from "./authority.ts";
import type { Gate } from "./authorize.ts";
import type { ToolGate } from "./invoke-tool.ts";
import { resolveCatalogFor, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";
import { checkCall, revoked, type CallCheck, type TurnBasis } from "./call-check.ts";

/** Why a turn must end: it lost the audit log, or the access that it was admitted with. */
export type TurnBreak = "audit_unavailable" | "credential_revoked";

/** A turn that was admitted. Only its own operations change its mutable fields. */
export interface RunningTurn {
  readonly gate: Gate;
  /** At the instant of the admission. */
  readonly context: AccessContext;
  readonly basis: TurnBasis;
  readonly catalog: ToolCatalog;
  /** The tools that a resumed turn had before and whose provider has not answered. The provider is asked again at each call. */
  readonly missing: ReadonlySet<string>;
  readonly registry: ToolRegistry;
  isOpen: boolean;
  mayHaveTakenEffect: boolean;
  mustEnd: TurnBreak | undefined;
}

/** Checks whether a call may be made at all; a refusal is recorded as a decision about the turn itself. */
export async function checkTurnCall(
  turn: RunningTurn,
  instant: AccessContext,
  signal: AbortSignal,
): Promise<CallCheck> {
  const isRevoked = turn.mustEnd === "credential_revoked";
  const check = isRevoked ? revoked : await checkCall(turn.gate, turn.basis, instant, signal);
  if (check.kind === "allowed") return check;
  const { reason, metadata } = check;
  if (reason === "credential_revoked") turn.mustEnd ??= reason;
  const { request } = turn.basis;
  const facts = { type: "authorization.checked", outcome: "denied", ...request, reason, metadata } as const;
  await recordOutcome(turn.gate.ports, instant, () => facts, signal);
  return check;
}

/** The gate for one call of the turn: it uses the turn's own catalog, and the authority that `checkTurnCall` left. */
export function gateOf(turn: RunningTurn, view: AuthorityView | undefined): ToolGate {
  return {
    ports: turn.gate.ports,
    catalog: (name, context, signal) =>
      turn.missing.has(name) ? resolveCatalogFor(name, turn.registry, turn.gate.ports, context, signal) : turn.catalog,
    view: () => view,
    begin({ readWrite, annotations }) {
      if (!turn.isOpen) return "tool_unavailable";
      if (turn.mustEnd === "credential_revoked") return turn.mustEnd;
      turn.mayHaveTakenEffect ||= readWrite === "write" && annotations?.idempotent !== true;
      return undefined;
    },
    onAuditOutage() {
      turn.mustEnd ??= "audit_unavailable";
    },
  };
}
