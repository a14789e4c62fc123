import { isJSONRPCResponse, type Transport } from "@modelcontextprotocol/client";

/** How many answers to a server's own requests may be on their way at a time. */
const maxAnswers = 16;
/** The longest id of a request that is answered: it is the server's, and goes back as it came. */
const maxIdLength = 256;

/**
 * Leaves requests of a server without an answer while it takes none of those before. Otherwise a server that asks on and
 * never listens decides how much memory, and how many connections, the host has for it.
 */
export function limitAnswers(transport: Transport): void {
  const send = transport.send.bind(transport);
  let onTheirWay = 0;
  transport.send = async (message, options) => {
    if (!isJSONRPCResponse(message)) return send(message, options);
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
