import { openApiDocument } from "turnpike/http";
import { withAdminRoutes } from "./admin-openapi.ts";
import { version } from "../../base/index.ts";

/** The description of everything that the host serves. */
export function hostOpenApi(): object {
  const service = openApiDocument({
    title: "Turnpike",
    version,
    securitySchemes: { credential: { type: "http", scheme: "bearer" } },
    security: [{ credential: [] }],
  });
  return withAdminRoutes(service);
}
