import type { IncomingMessage } from "node:http";
import { ServiceHttpError } from "turnpike/http";
import { wireErrors } from "./wire-errors.ts";

/** Whether the rest of a body can still come. */
export class BodyState {
  #error: Error | undefined;
  #onBroken: ((error: Error) => void) | undefined;

  /** The rest of the body cannot be read; the error is for the caller. */
  break(error: Error): void {
    this.#error ??= error;
    this.#onBroken?.(this.#error);
  }

  /** Told at once when it is broken already. */
  whenBroken(tell: (error: Error) => void): void {
    this.#onBroken = tell;
    if (this.#error !== undefined) tell(this.#error);
  }
}

/**
 * The body of a request, up to a limit, whatever length it declares. Throws `413 payload_too_large`, and the error of
 * `state` once that is broken; then nothing of it is buffered. `onPiece` is called for every piece before it is buffered.
 */
export function readLimited(
  incoming: IncomingMessage,
  limit: number,
  state: BodyState = new BodyState(),
  onPiece?: (bytes: number) => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let rest: Buffer[] | undefined;
    let size = 0;
    let isGivenUp = false;
    const giveUp = (error: Error): void => {
      isGivenUp = true;
      first = rest = undefined;
      reject(error);
    };
    state.whenBroken(giveUp);
    if (incoming.destroyed && !incoming.readableEnded) return reject(new Error("The request broke off."));
    // Most bodies are here by now, and need none of a stream's events.
    if (incoming.complete && incoming.readableLength <= limit) {
      onPiece?.(incoming.readableLength);
      return resolve((incoming.read() as Buffer | null) ?? nothing);
    }
    incoming.on("data", (chunk: Buffer) => {
      if (isGivenUp) return;
      size += chunk.length;
      if (size > limit) {
        incoming.pause();
        return giveUp(tooLarge(limit));
      }
      onPiece?.(chunk.length);
      if (isGivenUp) return;
      if (first === undefined) first = chunk;
      else (rest ??= []).push(chunk);
    });
    // Most bodies come in one piece, which is not copied.
    incoming.on("end", () =>
      resolve(first === undefined || rest === undefined ? (first ?? nothing) : Buffer.concat([first, ...rest])),
    );
    incoming.on("error", reject);
    // Every request closes in the end, and an error costs more than all the rest here.
    incoming.on("close", () => {
      if (!incoming.readableEnded) reject(new Error("The request broke off."));
    });
  });
}

const nothing = new Uint8Array(0);

/** The rest of a body that is too large is not read, so the connection is closed. */
export function tooLarge(limit: number): ServiceHttpError {
  return new ServiceHttpError(413, wireErrors[413], tooLargeText(limit), { headers: { connection: "close" } });
}

export function tooLargeText(limit: number): string {
  return `A body has at most ${limit} bytes.`;
}
