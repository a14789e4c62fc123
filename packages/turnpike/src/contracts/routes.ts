import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { AuthorizationDecisionSchema, AuthorizeRequestSchema } from "./access.ts";
import { ActOutcomeSchema, ActRequestSchema, ActStateSchema } from "./act-request.ts";
import { MessageEnvelopeSchema, MessageResultSchema } from "./message.ts";
import { NamespaceCatalogSchema, NamespaceUpdateSchema } from "./namespace.ts";
import { ReachResultSchema } from "./reach.ts";
import { ResourceOperationRequestSchema, ResourceResultSchema } from "./resource-operation.ts";
import { ToolCallSchema, ToolCatalogSchema, ToolResultSchema } from "./tool.ts";
import { TurnEventListSchema, TurnListSchema, TurnRequestSchema, TurnResultSchema, TurnStateSchema } from "./turn.ts";

export const HealthSchema = strictObject({ status: z.literal("ok"), protocolVersion: z.literal("1") });

/** The answer of `GET /health`. */
export type Health = z.infer<typeof HealthSchema>;

/** One row of the route table. */
export interface Route {
  method: "GET" | "POST" | "PUT";
  /** A segment in braces, such as `{executionId}`, matches any value that is percent-encoded and not empty. */
  path: string;
  /** Absent when the request has no body. */
  request?: z.ZodType;
  response: z.ZodType;
  /** Whether the access context must, may or need not even exist: `none` resolves no context at all. */
  authority: "required" | "optional" | "none";
}

/** Every route of the service, by the name of its operation. */
export const routes = {
  health: { method: "GET", path: "/health", response: HealthSchema, authority: "none" },
  authorize: {
    method: "POST",
    path: "/v1/authorize",
    request: AuthorizeRequestSchema,
    response: AuthorizationDecisionSchema,
    authority: "required",
  },
  reach: { method: "GET", path: "/v1/reach", response: ReachResultSchema, authority: "optional" },
  listTools: { method: "GET", path: "/v1/tools", response: ToolCatalogSchema, authority: "optional" },
  listToolNamespaces: {
    method: "GET",
    path: "/v1/tools/namespaces",
    response: NamespaceCatalogSchema,
    authority: "optional",
  },
  updateToolNamespaces: {
    method: "PUT",
    path: "/v1/tools/namespaces",
    request: NamespaceUpdateSchema,
    response: NamespaceCatalogSchema,
    authority: "required",
  },
  invokeTool: {
    method: "POST",
    path: "/v1/tools/invoke",
    request: ToolCallSchema,
    response: ToolResultSchema,
    authority: "required",
  },
  invokeResource: {
    method: "POST",
    path: "/v1/resources/invoke",
    request: ResourceOperationRequestSchema,
    response: ResourceResultSchema,
    authority: "required",
  },
  sendMessage: {
    method: "POST",
    path: "/v1/messages",
    request: MessageEnvelopeSchema,
    response: MessageResultSchema,
    authority: "required",
  },
  executeTurn: {
    method: "POST",
    path: "/v1/turns",
    request: TurnRequestSchema,
    response: TurnResultSchema,
    authority: "required",
  },
  // The four below exist only when the host has a journal of turns.
  listTurns: { method: "GET", path: "/v1/turns", response: TurnListSchema, authority: "optional" },
  getTurn: { method: "GET", path: "/v1/turns/{executionId}", response: TurnStateSchema, authority: "optional" },
  listTurnEvents: {
    method: "GET",
    path: "/v1/turns/{executionId}/events",
    response: TurnEventListSchema,
    authority: "optional",
  },
  cancelTurn: {
    method: "POST",
    path: "/v1/turns/{executionId}/cancel",
    response: TurnStateSchema,
    authority: "optional",
  },
  // The three below exist only when the host has a store of acts.
  beginAct: {
    method: "POST",
    path: "/v1/acts",
    request: ActRequestSchema,
    response: ActStateSchema,
    authority: "required",
  },
  finishAct: {
    method: "POST",
    path: "/v1/acts/{id}/outcome",
    request: ActOutcomeSchema,
    response: ActStateSchema,
    authority: "optional",
  },
  getAct: { method: "GET", path: "/v1/acts/{id}", response: ActStateSchema, authority: "optional" },
} as const satisfies Record<string, Route>;

/** The operation a route carries out. */
export type RouteName = keyof typeof routes;
