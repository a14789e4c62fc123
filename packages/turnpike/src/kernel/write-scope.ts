import type { AuditEvent } from "../contracts/index.ts";
import type { Reservation } from "./budget-store.ts";

/** One use of a bounded grant. */
export interface GrantUse {
  namespaceId: string;
  grantId: string;
  maxUses: number;
}

/** One possible outcome of a decision. */
export interface DecisionChoice {
  /** The uses that it takes, each of another grant. It can be chosen only while fewer than `maxUses` of each are counted. */
  uses?: readonly GrantUse[];
  /** Uses that it does not take, each of another grant. It can be chosen only while fewer than `maxUses` of each are counted. */
  left?: readonly GrantUse[];
  /** The permit that it uses. It can be chosen only while the permit is unused. */
  permit?: { namespaceId: string; id: string };
  /**
   * What it reserves, each of another budget, under the id of its event and at the time of that. It can be chosen only while all of it
   * is left, as `BudgetStore.reserve` says.
   */
  reservations?: readonly Reservation[];
  /** The grants of an act that needs several things, of which the event names the first. */
  grants?: readonly string[];
  /** The request hash of an act, in a denial that an approval of the act would turn into an allowance. */
  requestHash?: string;
  /** The event that is recorded when it is chosen. */
  event: AuditEvent;
}

/**
 * Where the decisions and events of one call are written together with something else: the id that the call takes, or the entry
 * of a turn. The code that opens a scope also closes it.
 */
export interface WriteScope {
  /** Like `DecisionLedger.decide`. It may resolve before the choice is durable if nothing happens because of the choice. */
  decide(choices: readonly DecisionChoice[]): Promise<number>;
  /** Like `AuditSink.record`, but an event after a decision may wait for the end of the call. */
  record(event: AuditEvent): Promise<void>;
  /** Recorded events that wait. The code that opened the scope writes them with its next write. */
  readonly pendingEvents: readonly AuditEvent[];
}
