export { type AdminClient, AdminClientError, type AdminClientOptions, createAdminClient } from "./admin-client.ts";
export {
  type AdminInput,
  type AdminOutput,
  type AdminRoute,
  type AdminRouteName,
  adminRoutes,
  type RouteAccess,
} from "./admin-routes.ts";
export { InstantSchema } from "./admin-schemas.ts";
export type { AdminExplanation, GrantEntry, OperatedTurn, Settings } from "./admin-schemas.ts";
export type { Difference, McpReview, McpServer } from "./mcp-schemas.ts";
export {
  type CredentialAccess,
  CredentialAccessSchema,
  type CredentialRecord,
  type ExportPlace,
  HashSchema,
  type OperatorRole,
  OperatorRoleSchema,
  operatorsTenant,
  type EscalationRecord,
  EscalationStatusSchema,
  StrandHeadSchema,
  StrandPlaceSchema,
} from "./records.ts";
