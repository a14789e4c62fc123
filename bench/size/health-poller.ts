// Asks a host again and again whether it lives, from a process of its own, and remembers the longest that it took.
import { openConnection } from "../support/raw-http.ts";

const port = Number(process.argv[2]);
const request = `GET /health HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`;
const pauseMs = 2;

let longest = 0;
let isAsked = false;

const connection = await openConnection(port, (error) => {
  console.error(`/health: ${error.message}`);
  process.exit(1);
});

function poll(): void {
  const start = performance.now();
  connection.send(request, ({ status }) => {
    if (status !== 200) throw new Error(`/health answers ${status}`);
    longest = Math.max(longest, performance.now() - start);
    // The answer waits for the one that is under way: a host that is blocked delays exactly that one.
    if (isAsked) {
      process.send?.(longest);
      [longest, isAsked] = [0, false];
    }
    setTimeout(poll, pauseMs);
  });
}

process.on("message", () => (isAsked = true));
process.once("disconnect", () => process.exit(0));
poll();
