import type { Transport } from "@modelcontextprotocol/client";

/** How many answers to a server's own requests may be pending at a time. */
const maxAnswers = 16;
/** The longest id of a request that is answered. The server chooses it, and the answer repeats it. */
const maxIdLength = 256;

/**
 * Does not answer requests of a server while it does not read the earlier answers. Otherwise a server that sends requests and
 * never reads could take any amount of memory and connections of the host.
 */
export function limitAnswers(transport: Transport): void {
  const send = transport.send.bind(transport);
  let onTheirWay = 0;
  transport.send = async (message, options) => {
    if ("method" in message) return send(message, options);
    const isLong = typeof message.id === "string" && message.id.length > maxIdLength;
    if (onTheirWay === maxAnswers || isLong) return;
    onTheirWay += 1;
    try {
      await send(message, options);
    } finally {
      onTheirWay -= 1;
    }
  };
}
