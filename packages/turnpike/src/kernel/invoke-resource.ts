import {
  ResourceOperationRequestSchema,
  ResourceResultSchema,
  type AccessContext,
  type Act,
  type ErrorCode,
  type ResourceOperation,
  type ResourceOperationRequest,
  type ResourceResult,
} from "../contracts/index.ts";
import { accept } from "../internal/index.ts";
import { recordOutcome, type AuditFacts } from "./audit.ts";
import { authorizeEffect, namesContextOwner, type Gate } from "./authorize.ts";
import { acceptContext } from "./context.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { withBasis } from "./covers.ts";
import { carryOutEffect, readResult, type EffectOptions } from "./effect.ts";
import { denialError, errorObject } from "./kernel-error.ts";
import type { ResourceProvider } from "./ports.ts";

/** The provider of each resource namespace. */
export type ResourceRegistry = ReadonlyMap<string, ResourceProvider>;

/** Indexes the providers. Throws when two serve one namespace. */
export function createResourceRegistry(providers: readonly ResourceProvider[] = []): ResourceRegistry {
  const registry = new Map<string, ResourceProvider>();
  for (const provider of providers) {
    if (registry.has(provider.namespace)) throw new TypeError(`Two resource providers serve ${provider.namespace}.`);
    registry.set(provider.namespace, provider);
  }
  return registry;
}

/** The operation `invokeResource`. A context inside of `operation` is ignored. */
export async function invokeResource(
  gate: Gate,
  registry: ResourceRegistry,
  context: AccessContext,
  operation: ResourceOperationRequest & { context?: AccessContext },
  options: EffectOptions,
): Promise<ResourceResult> {
  const { signal } = options;
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return denied(operation, context, "invalid_context");
  const accepted = accept(ResourceOperationRequestSchema, withoutContext(operation));
  if (!accepted.ok) {
    const refusal: AuditFacts = { type: "resource.invoked", outcome: "denied", reason: "invalid_request" };
    await recordOutcome(gate.ports, trusted, () => refusal, signal, options);
    return denied(operation, trusted, "invalid_request");
  }
  const result = await carryOut(gate, registry, trusted, accepted.value, options);
  const { resource, action, operationId } = accepted.value;
  const facts = (): AuditFacts => ({
    type: "resource.invoked",
    outcome: result.status,
    resource,
    action,
    operationId,
    ...(result.status !== "succeeded" && { reason: result.error.code }),
  });
  await recordOutcome(gate.ports, trusted, facts, signal, options);
  return result;
}

function withoutContext(operation: ResourceOperationRequest & { context?: AccessContext }): ResourceOperationRequest {
  if (operation.context === undefined) return operation;
  const { context: _ignored, ...request } = operation;
  return request;
}

async function carryOut(
  gate: Gate,
  registry: ResourceRegistry,
  context: AccessContext,
  request: ResourceOperationRequest,
  options: EffectOptions,
): Promise<ResourceResult> {
  const { resource, action, operationId } = request;
  const owned = Object.freeze({ ...resource, owner: context.owner });
  const asked = namesContextOwner(resource, context) ? Object.freeze({ resource: owned, action }) : undefined;
  const view = asked && (await gate.view(context, options.signal));
  const { input, metadata } = request;
  const act = (): Act => ({ kind: "resource", action, resource: owned, input, metadata });
  const subject = { context, request: asked, view, facts: { operationId }, act };
  const decision = await authorizeEffect(gate.ports, subject, options);
  if (decision.kind === "deny") {
    const { reason } = decision;
    if (reason === "audit_unavailable") return failed(request, context, reason);
    return { status: "denied", operationId, completedAt: context.now, error: denialError(decision) };
  }
  const provider = registry.get(resource.namespace);
  if (provider === undefined) return failed(request, context, "resource_provider_not_found");
  const basis = { ports: gate.ports, context, grant: decision.grant, view: decision.view, permit: decision.permit };
  const operation = withBasis({ ...request, resource: owned, context }, basis);
  return run(gate.ports, provider, operation, options);
}

async function run(
  ports: Ports,
  provider: ResourceProvider,
  operation: ResourceOperation,
  options: EffectOptions,
): Promise<ResourceResult> {
  const { operationId, context, resource } = operation;
  const failure = { port: "resources", id: resource.namespace } as const;
  options.signal.throwIfAborted();
  const end = await carryOutEffect(ports, options, (limited) => provider.invoke(operation, limited.get()));
  if (end.kind === "threw") {
    reportPortError(ports, end.error, failure);
    return failed(operation, context, "resource_execution_failed", end.message);
  }
  const read = readResult(ports, failure, ResourceResultSchema, end.value, (one) => one.operationId === operationId);
  return read.ok ? read.result : failed(operation, context, "invalid_resource_result", read.message);
}

function denied({ operationId }: ResourceOperationRequest, context: AccessContext, code: ErrorCode): ResourceResult {
  return { status: "denied", operationId, completedAt: context.now, error: errorObject(code) };
}

function failed(
  { operationId }: ResourceOperationRequest,
  context: AccessContext,
  code: ErrorCode,
  message?: string,
): ResourceResult {
  return { status: "failed", operationId, completedAt: context.now, error: errorObject(code, message) };
}
