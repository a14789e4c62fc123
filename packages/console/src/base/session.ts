import type { AdminOutput } from "turnpike-host/management";
import { signal } from "@preact/signals";

/** Who looks at the page. */
export const session = {
  /** Undefined before the sign-in. */
  current: signal<AdminOutput<"readSession"> | undefined>(undefined),
  /** Whether the host no longer knows the session: it ended, or the credential behind it was revoked. */
  isLost: signal(false),
};
