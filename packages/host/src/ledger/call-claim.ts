import type { AuditEvent } from "turnpike/contracts";
import type { CallOptions, DecisionLedger } from "turnpike/kernel";
import { entryOf, type AuditEntry } from "./chain.ts";
import type { Ledger } from "./ledger.ts";
import { grantUse, permitUse, type Alternative, type Claim, type Outcome, type ReplayRow } from "./submission.ts";

/** What is known of a claim. */
export type ClaimState =
  /** Nothing of the call was kept yet. */
  | { kind: "open" }
  | { kind: "made" }
  /** It came with a refusal: the key is free. */
  | { kind: "given back" }
  /** Somebody else has the key, or had it until a moment ago. */
  | { kind: "taken"; by: ReplayRow | undefined }
  /** Nobody knows whether it was made. */
  | { kind: "failed"; error: unknown };

/** The key of a call is somebody else's: nothing of the call is kept. */
export class ClaimTakenError extends Error {
  override readonly name = "ClaimTakenError";
  constructor() {
    super("The key is taken.");
  }
}

/** What a layer wants kept together with what a call keeps. It travels in the options of the call. */
export abstract class CallCompanion {
  /** Keeps the first alternative that can be taken, and says which; -1 when none can. */
  abstract keep(alternatives: readonly Alternative[]): Promise<number>;
  /** Keeps an event of the call, now or with the call's end. */
  abstract record(entry: AuditEntry): Promise<void>;
}

/**
 * The claim of a call. It is made together with the first thing that the call keeps; what the call records afterwards waits
 * for its end, to be kept with that.
 */
export class CallClaim extends CallCompanion {
  readonly #ledger: Ledger;
  readonly #claim: Claim;
  readonly #onState: (state: ClaimState) => void;
  #state: ClaimState = { kind: "open" };
  /** The submission that makes the claim, from when it was sent. Its caller may have gone since. */
  #making: Promise<Outcome> | undefined;
  /** What waits for the end of the call. */
  readonly entries: AuditEntry[] = [];

  constructor(ledger: Ledger, claim: Claim, onState: (state: ClaimState) => void) {
    super();
    this.#ledger = ledger;
    this.#claim = claim;
    this.#onState = onState;
  }

  get state(): ClaimState {
    return this.#state;
  }

  /** Makes the claim if that was not tried yet. */
  async make(): Promise<ClaimState> {
    await (this.#making ??= this.#submit([])).catch(() => {});
    return this.#state;
  }

  /** Keeps the first alternative that can be taken, and says which; with the claim if it is not made yet. */
  override async keep(alternatives: readonly Alternative[]): Promise<number> {
    if (this.#making === undefined) return placeOf(await (this.#making = this.#submit(alternatives)));
    if (this.#state.kind === "taken") throw new ClaimTakenError();
    return placeOf(await this.#ledger.submit({ alternatives }));
  }

  /** Keeps an event: what comes first is a refusal, because every effect has a decision before it. */
  override async record(entry: AuditEntry): Promise<void> {
    switch (this.#state.kind) {
      case "made":
        this.entries.push(entry);
        return;
      case "taken":
        return;
      default:
        await this.keep([{ entries: [entry], isRefusal: true }]);
    }
  }

  async #submit(alternatives: readonly Alternative[]): Promise<Outcome> {
    try {
      const outcome = await this.#ledger.submit({ claim: this.#claim, alternatives });
      if (outcome.kind === "taken") {
        this.#come({ kind: "taken", by: outcome.by });
        throw new ClaimTakenError();
      }
      const chosen = alternatives[placeOf(outcome)];
      const isRefused = alternatives.length > 0 && (chosen === undefined || chosen.isRefusal === true);
      this.#come({ kind: isRefused ? "given back" : "made" });
      return outcome;
    } catch (error) {
      if (!(error instanceof ClaimTakenError)) this.#come({ kind: "failed", error });
      throw error;
    }
  }

  #come(state: ClaimState): void {
    this.#state = state;
    this.#onState(state);
  }
}

function placeOf(outcome: Outcome): number {
  if (outcome.kind !== "kept") throw new ClaimTakenError();
  return outcome.alternative;
}

function companionOf(call: CallOptions | undefined): CallCompanion | undefined {
  return call?.claim instanceof CallCompanion ? call.claim : undefined;
}

/** Keeps an event of a call. */
export async function recordEvent(ledger: Ledger, event: AuditEvent, call: CallOptions | undefined): Promise<void> {
  const entry = entryOf(event);
  const companion = companionOf(call);
  if (companion === undefined) await ledger.submit({ alternatives: [{ entries: [entry] }] });
  else await companion.record(entry);
}

/** Decisions of calls: the uses, the event and the claim of the call are one submission. */
export function createDecisionLedger(ledger: Ledger): DecisionLedger {
  return {
    async decide(choices, call) {
      const alternatives = choices.map(({ uses = [], permit, event }): Alternative => ({
        uses: [...uses.map(grantUse), ...(permit === undefined ? [] : [permitUse(permit)])],
        entries: [entryOf(event)],
        isRefusal: event.outcome === "denied",
      }));
      const companion = companionOf(call);
      if (companion !== undefined) return companion.keep(alternatives);
      return placeOf(await ledger.submit({ alternatives }));
    },
  };
}
