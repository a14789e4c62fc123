import { ServiceHttpError } from "turnpike/http";
import type { BodyState } from "./read-limited.ts";

/** How much of what a sender has sent is kept before it is known who they are. */
const unadmittedBytes = 16_384;

/** The same of all senders together. */
const unadmittedBytesOfAll = 16 * 1_048_576;

/** One body of a sender who is not admitted. */
interface UnadmittedBody {
  /** How long it may be, beside what else the sender has here. */
  readonly most: number;
  /** Told of every piece before it is kept. */
  onPiece(bytes: number): void;
  /** It has been read, and counts until it is released. */
  finish(): void;
  /** Nobody needs it any more. */
  release(): void;
}

/** The bodies of everybody who is not admitted. */
export interface UnadmittedBodies {
  /** How much is kept of all of them. */
  readonly bytes: number;
  /** Begins a body of a sender, who is one connection. `state` is broken when others need the room. */
  open(sender: object, state: BodyState): UnadmittedBody;
}

/**
 * Counts what is kept for senders who may be anybody. When it is too much, the body that has been coming for the longest is given
 * up: whoever holds many back makes room for those who send theirs at once.
 */
export function createUnadmittedBodies(mostOfAll = unadmittedBytesOfAll): UnadmittedBodies {
  const ofSender = new WeakMap<object, number>();
  /** Those that are not read yet, in the order in which they began. */
  const coming = new Set<{ giveUp(): void }>();
  let total = 0;
  return {
    get bytes() {
      return total;
    },
    open(sender, state) {
      let kept = 0;
      let isReleased = false;
      const count = (bytes: number): void => {
        kept += bytes;
        total += bytes;
        ofSender.set(sender, (ofSender.get(sender) ?? 0) + bytes);
      };
      const release = (): void => {
        isReleased = true;
        coming.delete(body);
        count(-kept);
      };
      const body = {
        giveUp() {
          release();
          state.break(overloaded());
        },
      };
      coming.add(body);
      return {
        most: Math.max(0, unadmittedBytes - (ofSender.get(sender) ?? 0)),
        onPiece(bytes) {
          if (isReleased) return;
          count(bytes);
          for (const oldest of coming) if (total > mostOfAll) oldest.giveUp();
        },
        finish: () => void coming.delete(body),
        release,
      };
    },
  };
}

function overloaded(): ServiceHttpError {
  const headers = { "retry-after": "1", connection: "close" };
  const message = "Too many requests of unknown senders are coming in slowly. Send this one again, at once.";
  return new ServiceHttpError(503, "overloaded", message, { headers });
}
