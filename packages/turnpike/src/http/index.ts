export { createServiceHandler, type ServiceHandlerOptions } from "./handler.ts";
export { openApiDocument, type OpenApiOptions } from "./openapi.ts";
export { readBody } from "./read-body.ts";
export { requestIdOf } from "./request-id.ts";
export {
  createServiceApi,
  type ExecuteTurnOptions,
  type ServiceApi,
  type ServiceApiCallOptions,
} from "./service-api.ts";
export { ServiceHttpError, type ServiceHttpErrorOptions } from "./service-http-error.ts";
