import type { z } from "zod";
import {
  ExplanationSchema,
  GrantEntrySchema,
  GrantStateSchema,
  OperatedTurnSchema,
  SettingsSchema,
  TurnWithEventsSchema,
} from "./admin-schemas.ts";
import { InvariantSchema, ViolationSchema } from "./invariant-schemas.ts";
import { McpReviewSchema, McpServerSchema } from "./mcp-schemas.ts";
import {
  CredentialAccessSchema,
  CredentialRecordSchema,
  EscalationRecordSchema,
  EscalationStatusSchema,
  ExportPlaceSchema,
  OperatorRoleSchema,
} from "./records.ts";
import { RemainingSchema } from "./routes/credential-routes.ts";
import { LiveEventSchema } from "./routes/event-routes.ts";
import { DeliverySchema } from "./routes/webhook-routes.ts";
import { ConnectionSchema } from "./routes/connection-routes.ts";
import { PersonSchema } from "./routes/person-routes.ts";
import { SessionSchema } from "./routes/session-routes.ts";

/** The shapes that several routes share or that clients have a word for, by the names that the API description gives them. */
export const sharedShapes: Readonly<Record<string, z.ZodType>> = {
  CredentialAccess: CredentialAccessSchema,
  CredentialRecord: CredentialRecordSchema,
  Delivery: DeliverySchema,
  EscalationRecord: EscalationRecordSchema,
  EscalationStatus: EscalationStatusSchema,
  Explanation: ExplanationSchema,
  ExportPlace: ExportPlaceSchema,
  GrantEntry: GrantEntrySchema,
  GrantState: GrantStateSchema,
  Invariant: InvariantSchema,
  LiveEvent: LiveEventSchema,
  McpReview: McpReviewSchema,
  McpServer: McpServerSchema,
  NamespaceSettings: SettingsSchema,
  OperatedTurn: OperatedTurnSchema,
  OperatorRole: OperatorRoleSchema,
  OperatorSession: SessionSchema,
  Person: PersonSchema,
  Connection: ConnectionSchema,
  Remaining: RemainingSchema,
  TurnWithEvents: TurnWithEventsSchema,
  Violation: ViolationSchema,
};
