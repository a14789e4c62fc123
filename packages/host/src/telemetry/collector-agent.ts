import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";

/** The connections to a collector. */
export interface CollectorAgent {
  /** The agent for this protocol. */
  open(protocol: string): Promise<HttpAgent>;
  /** Ends every connection. None is opened afterwards. */
  close(): void;
}

/**
 * A request of the exporter cannot be aborted. It ends when the collector is silent for the whole time limit, so a collector
 * that sends a byte now and then never lets it end. The exporter gives up when its connection is closed.
 */
export function createCollectorAgent(): CollectorAgent {
  const sockets = new Set<{ destroy(error: Error): unknown }>();
  let isClosed = false;
  return {
    // The exporter expects a promise.
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

/** A separate error: after the error of a broken connection, the exporter would retry. */
function closed(): Error {
  return new Error("The host has stopped.");
}
