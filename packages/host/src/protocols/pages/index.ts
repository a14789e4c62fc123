export { hostOpenApi } from "./openapi.ts";
export { metricsPage, openPages } from "./pages.ts";
export { whoamiProtocol } from "./whoami.ts";
