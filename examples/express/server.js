// Turnpike inside an Express app: the app keeps its routes, and the gate has those below /api/turnpike.
import express from "express";
import { toNodeHandler } from "srvx/node";
import { gate } from "./gate.js";

const app = express();
// `all` leaves the path whole, which `use` does not. It comes before every body parser, because the gate reads bodies itself.
app.all("/api/turnpike/{*path}", toNodeHandler(gate));
app.use(express.json());
app.get("/", (_request, response) => void response.send("The app's own page."));

const port = Number(process.env.PORT ?? 3000);
const server = app.listen(port, "127.0.0.1", (error) => {
  if (error) {
    console.error(error.message);
    process.exitCode = 1;
  } else console.log(`http://127.0.0.1:${server.address().port}/api/turnpike`);
});
