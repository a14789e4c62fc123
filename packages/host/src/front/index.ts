export { createApp } from "./app.ts";
export { ListenSchema, TlsSchema, wireLimits } from "./front-settings.ts";
export { startServer } from "./node-server.ts";
export { createReadiness } from "./readiness.ts";
