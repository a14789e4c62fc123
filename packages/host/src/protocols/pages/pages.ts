import { jsonReply, type Reply } from "turnpike/http";
import type { ProtocolRoute } from "../../front/index.ts";
import { errorFacts, type Log, type Metrics } from "../../observe/index.ts";
import { hostOpenApi } from "./openapi.ts";

/** What the pages use. */
export interface PageOptions {
  /** Rejects when the database takes no writes, and while the host is still starting. */
  checkReady(): Promise<void>;
  log: Log;
}

/** The pages that need no credential. */
export function openPages(options: PageOptions): ProtocolRoute<undefined>[] {
  const openApi = onFirstRequest(() => jsonReply(hostOpenApi()));
  return [
    { method: "GET", path: "/ready", answer: () => ready(options) },
    { method: "GET", path: "/openapi.json", answer: openApi },
  ];
}

/** A page that is made once, when it is first asked for: few hosts are, and each would start later. */
function onFirstRequest(make: () => Reply): () => Promise<Reply> {
  let reply: Reply | undefined;
  return async () => (reply ??= make());
}

async function ready({ checkReady, log }: PageOptions): Promise<Reply> {
  try {
    await checkReady();
    return jsonReply({ status: "ready" });
  } catch (error) {
    log.warn(errorFacts(error), "not ready");
    return jsonReply({ status: "unavailable" }, 503);
  }
}

/** The metrics as Prometheus reads them, for operators. */
export function metricsPage(metrics: Metrics): ProtocolRoute<unknown> {
  return {
    method: "GET",
    path: "/metrics",
    answer: async () => ({
      status: 200,
      headers: { "content-type": metrics.contentType },
      body: await metrics.text(),
    }),
  };
}
