import type { AccessContext } from "turnpike/contracts";
import type { ServiceApi, ServiceApiCallOptions } from "turnpike/http";

/** The caller's context, and the api to act with. */
export interface Access {
  api: ServiceApi;
  context: AccessContext;
  options: ServiceApiCallOptions & { signal: AbortSignal };
}
