import { ServiceHttpError } from "turnpike/http";
import { fixedLimits } from "../shared/index.ts";
import type { BodyState } from "./read-limited.ts";

/** How much is buffered of a sender before they are admitted, and of all of them together. */
const [unadmittedBytes, unadmittedBytesOfAll] = [
  fixedLimits.unadmittedBytes.value,
  fixedLimits.allUnadmittedBytes.value,
];

/** One body of a sender who is not admitted. */
interface UnadmittedBody {
  /** How long it may be, beside what else the sender has here. */
  readonly most: number;
  /** Called for every piece before it is buffered. */
  onPiece(bytes: number): void;
  /** It has been read, and counts until it is released. */
  finish(): void;
  /** Frees what was counted for the body. */
  release(): void;
}

/** The bodies of callers that are not admitted. */
export interface UnadmittedBodies {
  /** How much is buffered of all of them. */
  readonly bytes: number;
  /** Begins a body of a sender, who is one connection. `state` is broken when others need the room. */
  open(sender: object, state: BodyState): UnadmittedBody;
}

/**
 * Counts what is buffered for unknown senders. When it is too much, the body that has been coming for the longest is given
 * up: a sender who holds many back makes room for those who send theirs at once.
 */
export function createUnadmittedBodies(mostOfAll: number = unadmittedBytesOfAll): UnadmittedBodies {
  const ofSender = new WeakMap<object, number>();
  /** Those that are not read yet, in the order in which they began. */
  const coming = new Set<{ giveUp(): void }>();
  let total = 0;
  return {
    get bytes() {
      return total;
    },
    open(sender, state) {
      let held = 0;
      let isReleased = false;
      const count = (bytes: number): void => {
        held += bytes;
        total += bytes;
        ofSender.set(sender, (ofSender.get(sender) ?? 0) + bytes);
      };
      const release = (): void => {
        isReleased = true;
        coming.delete(body);
        count(-held);
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
