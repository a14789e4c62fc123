// Writes the description of the HTTP API to .build/openapi.json, as a host with bearer tokens would publish it, and what the
// host of this repository publishes to .build/host-openapi.json.
import { mkdirSync, writeFileSync } from "node:fs";
import { openApiDocument } from "turnpike/http";
import { hostOpenApi } from "../packages/host/dist/protocols/pages/openapi.js";

const document = openApiDocument({
  securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
  security: [{ bearer: [] }],
});
mkdirSync(".build", { recursive: true });
writeFileSync(".build/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
writeFileSync(".build/host-openapi.json", `${JSON.stringify(hostOpenApi(), null, 2)}\n`);
