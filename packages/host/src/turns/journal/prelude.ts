import type { ServiceApi } from "turnpike/http";
import type { CallOptions } from "turnpike/kernel";
import { CallCompanion, type AuditEntry } from "../../ledger/index.ts";

/** What is recorded for a turn before it begins: that its tools were listed. It is kept with its beginning. */
class Prelude extends CallCompanion {
  readonly entries: AuditEntry[] = [];

  override keep(): Promise<never> {
    return Promise.reject(new Error("Nothing is decided for a turn that has not begun."));
  }

  override record(entry: AuditEntry): Promise<void> {
    this.entries.push(entry);
    return Promise.resolve();
  }
}

/** The same api, whose new turns wait for no commit before they begin. A turn that does not begin was shown no tools. */
export function keepPreludes(api: ServiceApi): ServiceApi {
  return {
    ...api,
    executeTurn: (context, request, call) =>
      api.executeTurn(context, request, call?.pen === undefined ? { ...call, claim: new Prelude() } : call),
  };
}

/** What was recorded for the turn that this call begins. */
export function preludeOf({ claim }: Pick<CallOptions, "claim">): readonly AuditEntry[] {
  return claim instanceof Prelude ? claim.entries : [];
}
