export { AdminClientError } from "./admin-call.ts";
export { type AdminClient, type AdminClientOptions, createAdminClient } from "./admin-client.ts";
export type { AdminRoute, RouteAccess } from "./admin-route.ts";
export {
  type AdminCallName,
  type AdminInput,
  type AdminOutput,
  type AdminRouteName,
  adminRoutes,
  type AdminFileName,
  type AdminStreamName,
} from "./admin-routes.ts";
export { detailsFit, type EventDetails, eventFits } from "./event-filter.ts";
export { type InvariantRecord, InvariantSchema } from "./invariant-schemas.ts";
export { InstantSchema } from "./admin-schemas.ts";
export type { AdminExplanation, GrantEntry, OperatedTurn, Settings } from "./admin-schemas.ts";
export type { Difference, McpReview, McpServer } from "./mcp-schemas.ts";
export {
  type ClosedEscalation,
  type ClosedReason,
  type CredentialAccess,
  CredentialAccessSchema,
  type CredentialRecord,
  type DropReason,
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
export type { FollowedEvent, FollowOptions } from "./follow-events.ts";
export { askWhoami, type Whoami, whoamiPath, WhoamiSchema } from "./whoami.ts";
export { sharedShapes } from "./shared-shapes.ts";
export type { Remaining } from "./routes/credential-routes.ts";
export type { Found } from "./routes/search-routes.ts";
export type { Delivery, DeliveryState } from "./routes/webhook-routes.ts";
export type { LiveEvent } from "./routes/event-routes.ts";
export type { PersonAnswers, PersonConnection, PersonQuestion, PersonSession } from "./person-answers.ts";
