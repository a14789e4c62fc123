import type { Transport } from "@modelcontextprotocol/client";

/** A channel to a running server. Messages go over the transport until the channel is closed. */
export interface Channel {
  transport: Transport;
  /** Disconnects from the server for good, within a bounded time. */
  close(): Promise<void>;
}
