import { samePrincipal, type AccessContext } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import type { Kernel } from "turnpike/kernel";
import { type AdmittedCaller, operatorScope } from "../../access/index.ts";
import { adminRoutes } from "../../admin-contract/index.ts";
import type { BatchedEvaluation, Evaluation, Semantic } from "./evaluation-request.ts";

/** What evaluations use. */
export interface EvaluationServices {
  kernel: Pick<Kernel, "authorize">;
  /** Whether a tenant exists and was not deleted. */
  isLivingTenant(namespaceId: string): Promise<boolean>;
  clock: () => Date;
}

/** An answer in the format of AuthZEN. */
export interface EvaluationAnswer {
  decision: boolean;
  context: { reason_code: string; matched_grant?: string; error?: { status: number; message: string } };
}

/** The caller, and the signal that ends their request. */
export interface Asking {
  caller: AdmittedCaller;
  signal: AbortSignal;
}

/** Answers one evaluation. Throws 400, 403 or 404 when the caller may not ask for it. */
export async function evaluateOne(
  services: EvaluationServices,
  asking: Asking,
  evaluation: Evaluation,
): Promise<EvaluationAnswer> {
  const context = await contextOf(services, asking.caller, evaluation);
  return decide(services, asking, evaluation, context);
}

/**
 * Answers several evaluations in their order. A malformed one gets an answer of its own. One that the caller may not ask for
 * refuses them all, before anything is decided.
 */
export async function evaluateSeveral(
  services: EvaluationServices,
  asking: Asking,
  items: readonly BatchedEvaluation[],
  semantic: Semantic,
): Promise<EvaluationAnswer[]> {
  const evaluations: (() => Promise<EvaluationAnswer>)[] = [];
  for (const item of items) {
    if (!item.ok) {
      evaluations.push(() => Promise.resolve(malformed(item.message)));
      continue;
    }
    const context = await contextOf(services, asking.caller, item.value);
    evaluations.push(() => decide(services, asking, item.value, context));
  }
  // All at once, so that their audit events share a commit.
  if (semantic === "execute_all") return Promise.all(evaluations.map((ask) => ask()));
  const last = semantic === "permit_on_first_permit";
  const answers: EvaluationAnswer[] = [];
  for (const ask of evaluations) {
    const answer = await ask();
    answers.push(answer);
    if (answer.decision === last) break;
  }
  return answers;
}

function malformed(message: string): EvaluationAnswer {
  return { decision: false, context: { reason_code: "invalid_request", error: { status: 400, message } } };
}

/** Decides without counting a use. The audit log of the tenant records the decision for the subject who would act. */
async function decide(
  { kernel }: EvaluationServices,
  { caller, signal }: Asking,
  { action: { name: action }, resource: { type: namespace }, path }: Evaluation,
  context: AccessContext,
): Promise<EvaluationAnswer> {
  const request = { action, resource: { namespace, path } };
  const { allowed, reasonCode, matchedGrantId } = await kernel.authorize(context, request, { signal });
  const isShown = matchedGrantId !== undefined && isOperator(caller);
  return {
    decision: allowed,
    context: { reason_code: reasonCode, ...(isShown && { matched_grant: matchedGrantId }) },
  };
}

/**
 * The context in which the subject would act. Owner and purpose are the credential's unless they are named, and whose grants
 * count follows from the owner, as for every act.
 */
async function contextOf(
  services: EvaluationServices,
  caller: AdmittedCaller,
  evaluation: Evaluation,
): Promise<AccessContext> {
  const { subject: actor, context } = evaluation;
  const { access } = caller.credential;
  const namespaceId = await tenantOf(services, caller, evaluation);
  if (!isOperator(caller) && access.evaluates !== true && !samePrincipal(actor, access.actor))
    throw forbidden("This credential asks about its own actor alone. One made with --evaluates asks about others.");
  const owner = context.owner ?? access.owner;
  return {
    namespaceId,
    actor,
    owner,
    authority: context.authority ?? context.owner ?? access.authority ?? owner,
    purpose: purposeOf(caller, evaluation),
    enabledToolNamespaces: [],
    now: services.clock().toISOString(),
    traceId: caller.traceId,
    // The subject does not act: another caller asks about them.
    ...(!samePrincipal(actor, access.actor) && { askedBy: { actor: access.actor, credential: caller.credential.id } }),
  };
}

/** Operators ask about their tenant, or name one. All other callers ask about the tenant of their credential. */
async function tenantOf(
  services: EvaluationServices,
  { credential: { namespaceId, access } }: AdmittedCaller,
  { context: { tenant: named } }: Evaluation,
): Promise<string> {
  const operator = operatorScope(access);
  if (operator === undefined) {
    if (named !== undefined && named !== namespaceId) throw forbidden("This credential is of another tenant.");
    return namespaceId;
  }
  if (!roles.includes(operator.role)) throw forbidden(`This is not for operators with the role ${operator.role}.`);
  const tenant = operator.tenant ?? named;
  if (tenant === undefined) throw refusal(400, "invalid_request", "/context/tenant: expected the tenant to ask about");
  if (named !== undefined && named !== tenant) throw forbidden("You are an operator of another tenant.");
  if (!(await services.isLivingTenant(tenant))) throw refusal(404, "not_found", "There is no tenant of this name.");
  return tenant;
}

/** The roles that may ask why an act is denied may also ask whether it is. */
const roles: readonly string[] = adminRoutes.explain.roles;

function purposeOf({ credential: { access } }: AdmittedCaller, { context: { purpose } }: Evaluation): string {
  const isAny = access.admin === true;
  const chosen = purpose ?? access.purposes[0];
  if (chosen !== undefined && (isAny || access.purposes.includes(chosen))) return chosen;
  throw refusal(403, "purpose_not_allowed", "This credential does not allow that purpose.");
}

function isOperator({ credential: { access } }: AdmittedCaller): boolean {
  return access.admin === true;
}

function forbidden(message: string): ServiceHttpError {
  return refusal(403, "permission_denied", message);
}

function refusal(status: number, code: string, message: string): ServiceHttpError {
  return new ServiceHttpError(status, code, message);
}
