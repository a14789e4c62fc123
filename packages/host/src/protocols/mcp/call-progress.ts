import type { ServerContext } from "@modelcontextprotocol/server";
import type { ServiceApiCallOptions } from "turnpike/http";

/** How many notifications one call may send. They stay in memory until the client reads them. */
const maxNotifications = 1000;

/** Tells the client how far its call has come, on the stream of that call, if it asked for that with a token. */
export function progressOf({ mcpReq }: ServerContext): Pick<ServiceApiCallOptions, "onProgress"> {
  const { _meta: meta, notify } = mcpReq;
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return {};
  let sent = 0;
  let last = Number.NEGATIVE_INFINITY;
  return {
    onProgress({ progress, total, message }) {
      // MCP demands that progress increases, whatever the tool reports.
      if (progress <= last || sent === maxNotifications) return;
      last = progress;
      sent += 1;
      const said = { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
      // A client that has left cannot be notified. Its call ends by its own signal.
      void notify({ method: "notifications/progress", params: { progressToken, ...said } }).catch(() => {});
    },
  };
}
