// Serves the handler with the runtime's own server, and prints the port.
import { handler } from "./greeting-service.js";

const hostname = "127.0.0.1";
const print = (port) => console.log(`port ${port}`);

if ("Bun" in globalThis) print(Bun.serve({ hostname, port: 0, fetch: handler }).port);
else if ("Deno" in globalThis) Deno.serve({ hostname, port: 0, onListen: ({ port }) => print(port) }, handler);
else {
  const { serve } = await import("srvx/node");
  const server = serve({ hostname, port: 0, fetch: handler, silent: true });
  await server.ready();
  print(new URL(server.url).port);
}
