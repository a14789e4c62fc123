// The image's health check: exits with 0 when the host in this container answers /health, else with 1.
import http from "node:http";
import https from "node:https";

const { TURNPIKE_LISTEN_PORT: port = "8787", TURNPIKE_TLS_CERT_FILE: certificate } = process.env;
// The certificate is made out to the name that clients use, not to this address, and no secret is sent.
const options = { host: "127.0.0.1", port, path: "/health", timeout: 4000, rejectUnauthorized: false };

(certificate === undefined ? http : https)
  .get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on("timeout", () => process.exit(1))
  .on("error", () => process.exit(1));
