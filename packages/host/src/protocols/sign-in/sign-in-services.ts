import type { OperatorPorts } from "../../access/index.ts";
import type { IncomingRequest } from "../../front/index.ts";
import type { IdentityProvider, PersonStore } from "../../people/index.ts";

/** What signing people in uses. */
export interface SignInServices {
  providers: readonly IdentityProvider[];
  people: PersonStore;
  /** Whether a tenant was deleted: no one signs in there. */
  isDeleted(namespaceId: string): Promise<boolean>;
  /** Where the provider sends browsers back to: an origin that no request can choose. */
  ownOrigin(headers: IncomingRequest["request"]["headers"]): string;
  ports: OperatorPorts;
  /** Told why no one was let in, which callers learn little of. */
  onRefused(refusal: { provider: string; requestId: string }, error: unknown): void;
}
