import { jsonReply, type Reply } from "turnpike/http";
import { type ProtocolRoute, UnreadyError } from "../../front/index.ts";
import { outageReason } from "../../storage/index.ts";
import { errorFacts, type Log, type Metrics } from "../../telemetry/index.ts";
import { hostOpenApi } from "./openapi.ts";

/** What the pages use. */
export interface PageOptions {
  /** Rejects when the database takes no writes, and with an `UnreadyError` that says another reason. */
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

/** A page that is made once, on its first request, so that hosts start sooner. */
function onFirstRequest(make: () => Reply): () => Promise<Reply> {
  let reply: Reply | undefined;
  return async () => (reply ??= make());
}

async function ready({ checkReady, log }: PageOptions): Promise<Reply> {
  try {
    await checkReady();
    return jsonReply({ status: "ready" });
  } catch (error) {
    log.warn(errorFacts(error), "could not confirm that the host is ready, will answer 503 until it is");
    const reason = error instanceof UnreadyError ? error.message : outageReason(error);
    return jsonReply({ status: "unavailable", reason }, 503);
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
