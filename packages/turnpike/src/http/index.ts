export { createServiceHandler, type ServiceHandlerOptions } from "./handler.ts";
export { openApiDocument, type OpenApiOptions } from "./openapi.ts";
export {
  createServiceApi,
  type ExecuteTurnOptions,
  type ServiceApi,
  type ServiceApiCallOptions,
} from "./service-api.ts";
export { ServiceHttpError, type ServiceHttpErrorOptions } from "./service-http-error.ts";
