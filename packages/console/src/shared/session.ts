import type { AdminOutput } from "turnpike-host/admin-contract";
import { signal } from "@preact/signals";

/** The operator who is signed in. */
export const session = {
  /** Undefined before the sign-in. */
  current: signal<AdminOutput<"readSession"> | undefined>(undefined),
  /** Whether the host no longer knows the session: it ended, or the credential behind it was revoked. */
  isLost: signal(false),
};

const key = "turnpike-session";

/** Holds the half while the page is open, in browsers that do not let the page store anything. */
let unstored = "";

/**
 * The page's half of the session. Storage belongs to one origin, unlike the cookie, which goes to every port of the host name;
 * all tabs of the origin share it, and a reload finds it again.
 */
export const pageHalf = {
  read(): string {
    try {
      return globalThis.localStorage.getItem(key) ?? unstored;
    } catch {
      return unstored;
    }
  },
  write(secret: string): void {
    unstored = secret;
    try {
      globalThis.localStorage.setItem(key, secret);
    } catch {
      // It is not stored.
    }
  },
  /** Told when another tab has signed in or out. */
  onChange(tell: () => void): () => void {
    const hear = (event: StorageEvent): void => void (event.key === key && tell());
    globalThis.addEventListener("storage", hear);
    return () => globalThis.removeEventListener("storage", hear);
  },
};
