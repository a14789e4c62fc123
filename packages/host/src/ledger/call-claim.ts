import type { AuditEvent } from "turnpike/contracts";
import {
  OutdatedReadsError,
  type CallOptions,
  type DecisionChoice,
  type DecisionLedger,
  type WriteScope,
} from "turnpike/kernel";
import { currentBasis } from "../storage/index.ts";
import { entryOf } from "./chain.ts";
import type { Ledger } from "./ledger.ts";
import { grantUse, permitUse, type Alternative, type Claim, type Outcome, type ReplayRow } from "./submission.ts";

/** What is known of a claim. */
export type ClaimState =
  /** Nothing of the call was written yet. */
  | { kind: "open" }
  | { kind: "made" }
  /** The call was refused, or decided on what is outdated, so the key is free. */
  | { kind: "given back" }
  /** Another call has the key, or had it until an instant ago. */
  | { kind: "taken"; by: ReplayRow | undefined }
  /** It is unknown whether the claim was made. */
  | { kind: "failed"; error: unknown };

/** Another call has the key, so nothing of this call is written. */
export class ClaimTakenError extends Error {
  override readonly name = "ClaimTakenError";
  constructor() {
    super("The key is taken.");
  }
}

/**
 * The claim of a call. It is made together with the first write of the call. What the call records afterwards is pending, and
 * is written with its end.
 */
export class CallClaim implements WriteScope {
  readonly #ledger: Ledger;
  readonly #claim: Claim;
  readonly #onState: (state: ClaimState) => void;
  readonly #toAlternatives: typeof alternativesOf;
  #state: ClaimState = { kind: "open" };
  /** The submission that makes the claim, once it was sent. Its caller may have left since. */
  #making: Promise<Outcome> | undefined;
  /** Events that are written with the end of the call. */
  readonly pendingEvents: AuditEvent[] = [];

  constructor(
    ledger: Ledger,
    claim: Claim,
    onState: (state: ClaimState) => void,
    toAlternatives: typeof alternativesOf = alternativesOf,
  ) {
    this.#ledger = ledger;
    this.#claim = claim;
    this.#onState = onState;
    this.#toAlternatives = toAlternatives;
  }

  get state(): ClaimState {
    return this.#state;
  }

  /** Makes the claim, unless that was tried before. */
  async make(): Promise<ClaimState> {
    await (this.#making ??= this.#submit([])).catch(() => {});
    return this.#state;
  }

  /** Writes the first choice that can be taken, and says which; with the claim if it is not made yet. */
  decide(choices: readonly DecisionChoice[]): Promise<number> {
    return this.#write(this.#toAlternatives(choices));
  }

  async #write(alternatives: readonly Alternative[]): Promise<number> {
    if (this.#making === undefined) return placeOf(await (this.#making = this.#submit(alternatives)));
    if (this.#state.kind === "taken") throw new ClaimTakenError();
    return placeOf(await this.#ledger.submit({ alternatives, basis: currentBasis() }));
  }

  /** Writes an event. If it is the first write it is a refusal, because every effect has a decision before it. */
  async record(event: AuditEvent): Promise<void> {
    switch (this.#state.kind) {
      case "made":
        this.pendingEvents.push(event);
        return;
      case "taken":
        return;
      default:
        if (currentBasis()?.isOutdated === true) return;
        await this.#write([{ entries: [entryOf(event)], isRefusal: true }]);
    }
  }

  async #submit(alternatives: readonly Alternative[]): Promise<Outcome> {
    try {
      const outcome = await this.#ledger.submit({ claim: this.#claim, alternatives, basis: currentBasis() });
      if (outcome.kind === "outdated") {
        this.#come({ kind: "given back" });
        throw new OutdatedReadsError();
      }
      if (outcome.kind === "taken") {
        this.#come({ kind: "taken", by: outcome.by });
        throw new ClaimTakenError();
      }
      const chosen = alternatives[placeOf(outcome)];
      const isRefused = alternatives.length > 0 && (chosen === undefined || chosen.isRefusal === true);
      this.#come({ kind: isRefused ? "given back" : "made" });
      return outcome;
    } catch (error) {
      const isNothingWritten = error instanceof ClaimTakenError || error instanceof OutdatedReadsError;
      if (!isNothingWritten) this.#come({ kind: "failed", error });
      throw error;
    }
  }

  #come(state: ClaimState): void {
    this.#state = state;
    this.#onState(state);
  }
}

function placeOf(outcome: Outcome): number {
  if (outcome.kind === "outdated") throw new OutdatedReadsError();
  if (outcome.kind !== "written") throw new ClaimTakenError();
  return outcome.alternative;
}

/** Writes an event of a call: in its scope, if it has one. */
export async function recordEvent(ledger: Ledger, event: AuditEvent, call?: CallOptions): Promise<void> {
  if (call?.writes !== undefined) return call.writes.record(event);
  // An event that belongs to no call is written in any case: it has happened, whatever the reads of a call turn out to be.
  const basis = call === undefined ? undefined : currentBasis();
  const { kind } = await ledger.submit({ alternatives: [{ entries: [entryOf(event)] }], basis });
  if (kind === "outdated") throw new OutdatedReadsError();
}

/** The alternatives of a submission, one for each choice. */
export function alternativesOf(choices: readonly DecisionChoice[]): readonly Alternative[] {
  return choices.map(({ uses = [], left = [], permit, event }) => ({
    uses: [...uses.map(grantUse), ...(permit === undefined ? [] : [permitUse(permit)])],
    left: left.map(grantUse),
    entries: [entryOf(event)],
    isRefusal: event.outcome === "denied",
  }));
}

/** Decisions of calls: uses, event, and what the scope of the call adds, are one submission. */
export function createDecisionLedger(ledger: Ledger): DecisionLedger {
  return {
    async decide(choices, call) {
      if (call.writes !== undefined) return call.writes.decide(choices);
      return placeOf(await ledger.submit({ alternatives: alternativesOf(choices), basis: currentBasis() }));
    },
  };
}
