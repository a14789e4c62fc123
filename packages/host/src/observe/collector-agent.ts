import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";

/** The connections to a collector. */
export interface CollectorAgent {
  /** The agent for this protocol. */
  open(protocol: string): Promise<HttpAgent>;
  /** Ends every connection. There is none afterwards. */
  close(): void;
}

/**
 * The exporter cannot be stopped: its request ends when a collector has been silent for the whole time limit, and one that
 * says a byte now and then is never silent. Without its connection it gives up.
 */
export function createCollectorAgent(): CollectorAgent {
  const sockets = new Set<{ destroy(error: Error): unknown }>();
  let isClosed = false;
  return {
    // Async, as the exporter wants it.
    async open(protocol) {
      const agent = protocol === "http:" ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true });
      const connect = agent.createConnection.bind(agent);
      agent.createConnection = (options, callback) => {
        if (isClosed) throw closed();
        const socket = connect(options, callback);
        if (socket) {
          sockets.add(socket);
          socket.once("close", () => sockets.delete(socket));
        }
        return socket;
      };
      return agent;
    },
    close() {
      isClosed = true;
      for (const socket of sockets) socket.destroy(closed());
    },
  };
}

/** An error of its own: after that of a connection which broke, the exporter would try again. */
function closed(): Error {
  return new Error("The host has stopped.");
}
