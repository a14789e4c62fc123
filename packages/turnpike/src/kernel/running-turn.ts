import type { AccessContext } from "../contracts/index.ts";
import { recordOutcome } from "./audit.ts";
import type { AuthorityView } from "./authority.ts";
import type { Gate } from "./authorize.ts";
import type { ToolGate } from "./invoke-tool.ts";
import { resolveCatalogFor, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";
import { enter, revoked, type Entry, type TurnBasis } from "./turn-entry.ts";

/** What a turn cannot go on without: the trail, and the access it was admitted with. */
export type TurnBreak = "audit_unavailable" | "credential_revoked";

/** A turn that was admitted. What changes of it is changed by its own operations alone. */
export interface RunningTurn {
  readonly gate: Gate;
  /** At the moment of the admission. */
  readonly context: AccessContext;
  readonly basis: TurnBasis;
  readonly catalog: ToolCatalog;
  /** Of the tools that it had before it was interrupted, those whose provider has not answered: asked for again at each call. */
  readonly missing: ReadonlySet<string>;
  readonly registry: ToolRegistry;
  isOpen: boolean;
  mayHaveTakenEffect: boolean;
  mustEnd: TurnBreak | undefined;
}

/** Looks whether a call may be made at all; that it may not is on the trail as a decision about the turn itself. */
export async function enterTurn(turn: RunningTurn, moment: AccessContext, signal: AbortSignal): Promise<Entry> {
  const isRevoked = turn.mustEnd === "credential_revoked";
  const entry = isRevoked ? revoked : await enter(turn.gate, turn.basis, moment, signal);
  if (entry.kind === "open") return entry;
  const { reason, metadata } = entry;
  if (reason === "credential_revoked") turn.mustEnd ??= reason;
  const { request } = turn.basis;
  const facts = { type: "authorization.checked", outcome: "denied", ...request, reason, metadata } as const;
  await recordOutcome(turn.gate.ports, moment, () => facts, signal);
  return entry;
}

/** Where one call of the turn is decided: over the turn's own catalog, with what its entry left. */
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
