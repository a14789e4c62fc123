import type { OperatorPorts, RateLimit, RequestHeaders } from "../../access/index.ts";
import type { ClientStore, ConnectionStore, OAuthConfig } from "../../connections/index.ts";
import type { GrantStore } from "../../grants/index.ts";

/** What letting clients act for people uses. */
export interface OAuthServices {
  config: OAuthConfig;
  clients: ClientStore;
  connections: ConnectionStore;
  grants: Pick<GrantStore, "list">;
  /** The tool namespaces whose tools act on these resource namespaces. */
  toolNamespacesOf(resourceNamespaces: readonly string[]): string[];
  isDeleted(namespaceId: string): Promise<boolean>;
  /** Where this host is: an origin that no request can choose. */
  ownOrigin(headers: RequestHeaders): string;
  /** How often one address may register clients. */
  registrations: RateLimit;
  ports: OperatorPorts;
}
