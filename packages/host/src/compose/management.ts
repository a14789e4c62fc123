import type { ServiceApi } from "turnpike/http";
import { type BearerChoice, createBearerContexts, findBearer, type OperatorPorts } from "../access/index.ts";
import { createReportScheduler, fixedLimits } from "../base/index.ts";
import { serveProtocol, type ServedProtocol, type StreamSlots } from "../front/index.ts";
import { createLiveTenants } from "../live/index.ts";
import { errorFacts, type Log, type Metrics } from "../observe/index.ts";
import { adminProtocol, type AdminServices } from "../protocols/admin/index.ts";
import { metricsPage } from "../protocols/pages/index.ts";
import type { Stores } from "./stores.ts";

/** What the management API uses. */
interface ManagementParts
  extends
    Omit<AdminServices, "stores" | "live" | "reports" | "trials">,
    Pick<OperatorPorts, "originOf" | "rateLimit" | "onAuditError"> {
  stores: Stores;
  /** The service with every layer that a request with a credential passes. */
  api: ServiceApi;
  /** How many streams of events one credential may have open. */
  maxStreams: number;
  streamSlots: StreamSlots;
  metrics: Metrics;
  log: Log;
}

/** The management API, with what operators follow and try. */
export function openManagement(parts: ManagementParts): { protocol: ServedProtocol; close(): Promise<void> } {
  const { stores, api, maxStreams, streamSlots, clock, metrics, log } = parts;
  const { credentials, sessions, audit, settings, tenants } = stores;
  const live = createLiveTenants({
    stores,
    clock,
    maxStreams,
    onFailure: (error, tenant) => log.error({ tenant, ...errorFacts(error) }, "events not read; readers wait"),
  });
  const { reports: atOnce, waitingReports, reportWaitMs } = fixedLimits;
  const reports = createReportScheduler(
    { running: atOnce.value, waiting: waitingReports.value, waitMs: reportWaitMs.value },
    () => metrics.reportRefused(),
  );
  metrics.watchReports(reports);
  const bearers = { credentials, isDeleted: tenants.isDeleted, clock, contextOf: createBearerContexts({ settings }) };
  const trials = {
    api,
    bearerOf: (choice: BearerChoice, traceId: string) => findBearer(bearers, choice, traceId),
    onLateError: (error: unknown) => log.error(errorFacts(error), "turn of an operator's trial failed"),
  };
  const { originOf, rateLimit, onAuditError } = parts;
  const operators = { credentials, sessions, audit, originOf, rateLimit, clock, onAuditError };
  return {
    protocol: serveProtocol(adminProtocol({ ...parts, live, reports, trials }, operators, [metricsPage(metrics)]), {
      slots: streamSlots,
      perCredential: maxStreams,
    }),
    close() {
      reports.close();
      return live.close();
    },
  };
}
