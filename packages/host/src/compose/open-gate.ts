import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { ActOutcomeSchema, ActRequestSchema, describeIssues, type DiscoveryContext } from "turnpike/contracts";
import { createGate, type Gate, type GatePort } from "turnpike/client";
import { acceptContext, ServiceHttpError, toHeaderValue, toHttpError, type ServiceApiCallOptions } from "turnpike/http";
import { findBearer, openRecord } from "../access/index.ts";
import { createLog } from "../telemetry/index.ts";
import { openRuntimes } from "../turns/index.ts";
import { openParts, type HostOptions } from "./compose.ts";
import { loadConfig, type Config } from "./config.ts";
import { wireHost, type WiredHost } from "./wire-host.ts";

/** Which host to open. */
export interface OpenGateOptions extends Partial<Pick<HostOptions, "log" | "tools" | "env" | "clock">> {
  /** The path of an SQLite file or the URL of a PostgreSQL; that of the configuration unless given. */
  database?: string;
  /** A configuration, or the path of its file; what `turnpike serve` would find unless given. */
  config?: string | Config;
}

/** A host without a socket, for agents in its own process. */
export interface HostGate {
  /**
   * The gate as one caller has it: the bearer of a token, or of the credential with this id. It admits them at each call, so that a
   * credential that is revoked ends at the next one.
   */
  as(tokenOrCredentialId: string): Gate;
  /** Finishes what runs, and closes everything that was opened. */
  close(): Promise<void>;
}

const credentialId = /^[0-9a-f]{16}$/;

/** Opens what `turnpike serve` would open, without a socket. A host that cannot start leaves nothing open. */
export async function openGate(options: OpenGateOptions = {}): Promise<HostGate> {
  const { env = process.env, database, config: given, tools, clock } = options;
  const flags = database === undefined ? {} : { database };
  const config = typeof given === "object" ? { ...given, ...flags } : loadConfig({ file: given, env, flags });
  const log = options.log ?? createLog(config.log);
  const runtimes = await openRuntimes(config.runtime, env);
  const host = await openParts(config, { log, env }, async (parts) => {
    const wired = { log, ...runtimes, ...(tools && { tools }), ...(clock && { clock }) };
    return wireHost(config, wired, { ...parts, consoleUrl: () => config.notify.consoleUrl ?? "" });
  });
  host.start();
  const gates = new Set<Gate>();
  return {
    as(who) {
      const gate = createGate(portOf(host, who));
      gates.add(gate);
      return gate;
    },
    async close() {
      await Promise.all([...gates].map((gate) => gate.close()));
      await host.close(() => Promise.resolve());
    },
  };
}

/** The service of a host as a caller within its process has it. */
function portOf(host: Pick<WiredHost, "stores" | "service">, who: string): GatePort {
  const { attempt } = host.stores;
  const { api } = host.service;
  /** As the host's front does for a request: it is admitted, and tried again when it was decided on what is outdated. */
  const serve = async <Answer>(
    traceId: string,
    signal: AbortSignal | undefined,
    run: (context: DiscoveryContext, call: ServiceApiCallOptions) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await attempt(async () => {
        const { context, call } = await admit(host, who, traceId);
        return run(context, { ...call, signal });
      });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      throw toHttpError(error, signal ?? new AbortController().signal);
    }
  };
  return {
    begin: (request, { signal, waitSeconds }) =>
      serve(request.traceId, signal, async (context, call) => {
        const read = readInput(ActRequestSchema, request);
        return required(api.beginAct)(acceptContext(context, "required"), read, { ...call, waitSeconds });
      }),
    finish: (id, outcome) =>
      serve(outcome.traceId ?? randomUUID(), undefined, async (context, call) =>
        required(api.finishAct)(context, id, readInput(ActOutcomeSchema, outcome), call),
      ),
  };
}

/** Admits a caller as a request of theirs would be. */
async function admit(
  { stores, service: { resolveContext, contextOf, clock } }: Pick<WiredHost, "stores" | "service">,
  who: string,
  traceId: string,
): Promise<{ context: DiscoveryContext; call: ServiceApiCallOptions }> {
  if (!credentialId.test(who)) {
    const record = openRecord(randomUUID());
    const headers = new Map([
      ["authorization", `Bearer ${who}`],
      ["x-trace-id", toHeaderValue(traceId)],
    ]);
    const context = await resolveContext({ get: (name) => headers.get(name) ?? null }, record);
    return { context, call: { host: record } };
  }
  const { credentials, tenants } = stores;
  const namespaceId = (await credentials.find(who))?.namespaceId ?? "";
  const bearers = { credentials, isDeleted: tenants.isDeleted, clock, contextOf };
  try {
    return await findBearer(bearers, { namespaceId, credentialId: who }, traceId);
  } catch (error) {
    const isInvalid = error instanceof ServiceHttpError && (error.status === 404 || error.status === 409);
    throw isInvalid ? new ServiceHttpError(401, "unauthenticated", "No valid credential has this id.") : error;
  }
}

/** Throws `invalid_request`, as for a body. */
function readInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new ServiceHttpError(400, "invalid_request", describeIssues(read.error.issues));
}

function required<Operation>(operation: Operation | undefined): Operation {
  if (operation === undefined) throw new TypeError("The host has no store of acts.");
  return operation;
}
