// Turnpike inside a Hono app: the app keeps its routes, and the gate has those below /api/turnpike.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { gate } from "./gate.js";

const app = new Hono();
app.get("/", (context) => context.text("The app's own page."));
app.all("/api/turnpike/*", (context) => gate(context.req.raw));

const options = { fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 3000) };
const server = serve(options, ({ port }) => console.log(`http://127.0.0.1:${port}/api/turnpike`));
server.on("error", (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
