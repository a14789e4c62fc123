export { renderDocs } from "./docs-page.ts";
export { hostOpenApi } from "./openapi.ts";
