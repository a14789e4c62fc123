import type { Grant } from "../../contracts/index.ts";
import { parseInstant, timestampOf } from "../../internal/index.ts";

/** Years of four digits, which every reader of RFC 3339 knows. */
const [firstMillisecond, lastMillisecond] = [-62_167_219_200_000, 253_402_300_799_999];

/** Writes instants as texts that the kernel reads as the same instants, also where grants are finer than a millisecond. */
export class InstantTexts {
  readonly #texts = new Map<number, string>();

  constructor(at: string | undefined) {
    this.#learn(at);
  }

  learn({ issuedAt, revokedAt, constraints: { notBefore, expiresAt } }: Grant): void {
    for (const text of [issuedAt, revokedAt, notBefore, expiresAt]) this.#learn(text);
  }

  /** The text of an instant of a grant that was learned; undefined when it is unbounded. */
  of(instant: number): string | undefined {
    if (!Number.isFinite(instant)) return undefined;
    return isWhole(instant) ? timestampOf(instant) : this.#texts.get(instant);
  }

  #learn(text: string | undefined): void {
    const instant = text === undefined ? undefined : parseInstant(text);
    if (text !== undefined && instant !== undefined && !isWhole(instant)) this.#texts.set(instant, text);
  }
}

function isWhole(instant: number): boolean {
  return Number.isInteger(instant) && instant >= firstMillisecond && instant <= lastMillisecond;
}
