import type { Transport } from "@modelcontextprotocol/client";

/** The way to a server that runs: messages go over the transport until the channel is closed. */
export interface Channel {
  transport: Transport;
  /** Lets go of the server, for good and within a bounded time. */
  close(): Promise<void>;
}
