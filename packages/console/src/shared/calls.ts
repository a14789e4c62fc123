import type { AdminRouteName, RouteAccess } from "turnpike-host/admin-contract";
import type { CallShape } from "turnpike-host/admin-contract/call";

interface Call extends Pick<CallShape, "method" | "path">, Pick<RouteAccess, "roles"> {
  hasBody?: true;
  /** Whether it is about the whole host: an operator of one tenant may not. */
  isOfHost?: true;
}

/** Put in when the page is built: see vite.config.ts. */
declare const ADMIN_CALLS: Readonly<Record<AdminRouteName, Call>>;

/** The routes of the management API: how each is called, and who may. */
export const calls = ADMIN_CALLS;
