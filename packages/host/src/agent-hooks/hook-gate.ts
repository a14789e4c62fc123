import type { ActOutcome, ActRequest } from "turnpike/contracts";

/** Where an act is, as far as an agent is told. */
export interface HookActState {
  status: string;
  error?: { code: string; message: string } | undefined;
  expiresAt?: string | undefined;
  url?: string | undefined;
}

/** The gate that hooks ask. Both throw an error with a `code` when there is no answer. */
export interface HookGate {
  begin(act: ActRequest): Promise<HookActState>;
  finish(id: string, outcome: ActOutcome): Promise<unknown>;
}
