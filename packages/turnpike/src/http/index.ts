export { fromHeaderValue, jsonSchemasOf, nameVariants, ownSignal, toHeaderValue } from "../internal/index.ts";
export { acceptContext, contextAt, createServiceHandler, type ServiceHandlerOptions } from "./handler.ts";
export { openApiDocument, type OpenApiOptions } from "./openapi.ts";
export { describeErrors, type CodeAtStatus, type ErrorResponseOptions, type ErrorResponses } from "./openapi-errors.ts";
export { wantsStream } from "./negotiate.ts";
export { readBody, readJsonBody, type BodySource } from "./read-body.ts";
export { commonHeaders, errorReply, jsonReply, requestIdOf, toResponse, type Reply } from "./reply.ts";
export { createRouter, pathOf, pathParameters, patternOf, type Router, type RouteRow } from "./router.ts";
export {
  createServiceApi,
  type BeginActOptions,
  type ExecuteTurnOptions,
  type ServiceApi,
  type ServiceApiCallOptions,
} from "./service-api.ts";
export type { RequestHeaders, ServiceCall, ServiceRoute } from "./service-call.ts";
export { ServiceHttpError, type ServiceHttpErrorOptions } from "./service-http-error.ts";
export { serviceRoutes } from "./service-routes.ts";
export { toHttpError } from "./to-http-error.ts";
