import type { z } from "zod";
import { credentialRoutes } from "./routes/credential-routes.ts";
import { grantRoutes } from "./routes/grant-routes.ts";
import { escalationRoutes } from "./routes/escalation-routes.ts";
import { turnRoutes } from "./routes/turn-routes.ts";
import { auditRoutes } from "./routes/audit-routes.ts";
import { tenantRoutes } from "./routes/tenant-routes.ts";
import { explanationRoutes } from "./routes/explanation-routes.ts";
import { namespaceRoutes } from "./routes/namespace-routes.ts";
import { mcpRoutes } from "./routes/mcp-routes.ts";
import { sessionRoutes } from "./routes/session-routes.ts";
import { overviewRoutes } from "./routes/overview-routes.ts";
import { invariantRoutes } from "./routes/invariant-routes.ts";
import { reachRoutes } from "./routes/reach-routes.ts";
import { previewRoutes } from "./routes/preview-routes.ts";
import { trialRoutes } from "./routes/trial-routes.ts";
import { eventRoutes } from "./routes/event-routes.ts";
import { searchRoutes } from "./routes/search-routes.ts";
import { webhookRoutes } from "./routes/webhook-routes.ts";
import { connectionRoutes } from "./routes/connection-routes.ts";
import { personRoutes } from "./routes/person-routes.ts";
import { backupRoutes } from "./routes/backup-routes.ts";
import { databaseRoutes } from "./routes/database-routes.ts";

/** The route table of the operators, by the name of the operation. */
export const adminRoutes = {
  ...credentialRoutes,
  ...grantRoutes,
  ...escalationRoutes,
  ...turnRoutes,
  ...auditRoutes,
  ...tenantRoutes,
  ...explanationRoutes,
  ...namespaceRoutes,
  ...mcpRoutes,
  ...sessionRoutes,
  ...personRoutes,
  ...connectionRoutes,
  ...overviewRoutes,
  ...reachRoutes,
  ...invariantRoutes,
  ...previewRoutes,
  ...trialRoutes,
  ...eventRoutes,
  ...searchRoutes,
  ...webhookRoutes,
  ...backupRoutes,
  ...databaseRoutes,
};

/** The operation that a route carries out. */
export type AdminRouteName = keyof typeof adminRoutes;

/** The operations whose answer is a stream. */
export type AdminStreamName = {
  [Name in AdminRouteName]: (typeof adminRoutes)[Name] extends { isStream: true } ? Name : never;
}[AdminRouteName];

/** The operations whose answer is a file. */
export type AdminFileName = {
  [Name in AdminRouteName]: (typeof adminRoutes)[Name] extends { isFile: true } ? Name : never;
}[AdminRouteName];

/** The operations that answer once, with JSON. */
export type AdminCallName = Exclude<AdminRouteName, AdminStreamName | AdminFileName>;

type Body<Route> = Route extends { request: infer Schema extends z.ZodType } ? z.output<Schema> : unknown;
type Query<Route> = Route extends { query: infer Schema extends z.ZodType } ? z.output<Schema> : unknown;

/** The input of an operation: its parsed body, path and query. */
export type AdminInput<Name extends AdminRouteName> = Body<(typeof adminRoutes)[Name]> &
  Query<(typeof adminRoutes)[Name]>;

/** The output of an operation. */
export type AdminOutput<Name extends AdminRouteName> = z.infer<(typeof adminRoutes)[Name]["response"]>;
