import type { ServiceApi } from "turnpike/http";
import { type BearerChoice, createBearerContexts, findBearer, type OperatorPorts } from "../access/index.ts";
import { createReportScheduler, fixedLimits } from "../shared/index.ts";
import { serveProtocol, type ServedProtocol, type StreamSlots } from "../front/index.ts";
import { createLiveTenants, type LiveOptions } from "../events/index.ts";
import { errorFacts, type Log, type Metrics } from "../telemetry/index.ts";
import { adminProtocol, type AdminServices } from "../protocols/admin/index.ts";
import { metricsPage } from "../protocols/pages/index.ts";
import type { Stores } from "./stores.ts";

/** What the management API uses. */
interface ManagementParts
  extends
    Omit<AdminServices, "stores" | "live" | "reports" | "trials">,
    Pick<OperatorPorts, "originOf" | "rateLimit" | "isTokenSignInOff" | "onAuditError"> {
  stores: Stores;
  /** The service with every layer that a request with a credential passes. */
  api: ServiceApi;
  /** The tools of MCP servers of a tenant that are withdrawn. */
  withdrawnTools: LiveOptions["withdrawnTools"];
  /** How many streams of events one credential may have open. */
  maxStreams: number;
  streamSlots: StreamSlots;
  metrics: Metrics;
  log: Log;
}

/** The management API, with what operators follow and try. */
export function openAdminApi(parts: ManagementParts): {
  protocol: ServedProtocol;
  /** What admitting operators uses. */
  operators: OperatorPorts;
  close(): Promise<void>;
} {
  const { stores, api, withdrawnTools, maxStreams, streamSlots, clock, metrics, log } = parts;
  const { credentials, sessions, audit, settings, tenants } = stores;
  const live = createLiveTenants({
    stores,
    withdrawnTools,
    clock,
    maxStreams,
    onFailure: (error, tenant) =>
      log.error({ tenant, ...errorFacts(error) }, "could not read events, will retry while readers wait"),
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
    onLateError: (error: unknown) =>
      log.error(
        errorFacts(error),
        "could not run turn of an operator's trial to its end, its state says how far it came",
      ),
  };
  const { originOf, rateLimit, isTokenSignInOff, onAuditError } = parts;
  const operators = { credentials, sessions, audit, originOf, rateLimit, isTokenSignInOff, clock, onAuditError };
  return {
    operators,
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
