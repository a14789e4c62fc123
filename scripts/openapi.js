// Writes the description of the HTTP API to .build/openapi.json, as a host with bearer tokens would publish it.
import { mkdirSync, writeFileSync } from "node:fs";
import { openApiDocument } from "turnpike/http";

const document = openApiDocument({
  securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
  security: [{ bearer: [] }],
});
mkdirSync(".build", { recursive: true });
writeFileSync(".build/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
