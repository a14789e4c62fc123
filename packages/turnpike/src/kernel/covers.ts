import type { AccessContext, AuthorizationRequest, ResourceOperation, ToolCall } from "../contracts/index.ts";
import { ReturnOverride } from "../internal/index.ts";
import type { CompiledGrant } from "./active.ts";
import type { AuthorityView } from "./authority.ts";
import { acceptRequest, decideOn } from "./authorize.ts";
import type { Ports } from "./call-port.ts";
import { nearestMismatch } from "./match.ts";
import { required, type Approver } from "./permits.ts";
import type { Permit } from "./ports.ts";
import { peek, type Spend } from "./spend.ts";

/** An act that runs, as its tool or provider was handed it. */
export type RunningAct = ToolCall | ResourceOperation;

/** What an act was allowed on. */
interface DecisionBasis {
  /** Those of the kernel that allowed it: another kernel knows nothing of the act. */
  ports: Ports;
  context: AccessContext;
  grant: CompiledGrant;
  view: AuthorityView;
  /** The yes that it used. */
  permit?: Permit | undefined;
}

/** What an act was allowed on, as a private field on the act: nobody else can put one there, and it goes with the act. */
class BasisMark extends ReturnOverride {
  #basis: DecisionBasis;

  constructor(act: RunningAct, basis: DecisionBasis) {
    super(act);
    this.#basis = basis;
  }

  static put(act: RunningAct, basis: DecisionBasis): void {
    void new BasisMark(act, basis);
  }

  static of(act: RunningAct): DecisionBasis | undefined {
    return #basis in act ? act.#basis : undefined;
  }
}

/** Freezes a fresh act that was allowed, and remembers on what. */
export function withBasis<Act extends RunningAct>(act: Act, basis: DecisionBasis): Act {
  BasisMark.put(act, basis);
  return Object.freeze(act);
}

/**
 * Whether the authority that a running act was decided on covers another request too. The use that the act itself took
 * counts for it; nothing is consumed and nothing recorded. An act that the kernel does not know covers nothing.
 */
export async function covers(
  ports: Ports,
  act: RunningAct,
  request: AuthorizationRequest,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  const basis = BasisMark.of(act);
  if (basis?.ports !== ports) return false;
  const { context, grant, view, permit } = basis;
  const accepted = acceptRequest(context, request);
  if (accepted === undefined) return false;
  const { capabilities } = grant.grant;
  const counting = permit === undefined ? capabilities.filter(({ approval }) => approval === undefined) : capabilities;
  const isByItself = nearestMismatch(counting, accepted, context.owner) === undefined;
  // Inside a turn the grant may have been more at this moment than at the admission: that is for the decision to see.
  if (isByItself && ports.policy === undefined && view.admitted === undefined) return true;
  const look: Spend["look"] = (all, one, until) =>
    one.grant.id === grant.grant.id ? Promise.resolve(undefined) : peek.look(all, one, until);
  const spend: Spend = { ...peek, look, use: look };
  // A yes to the act is one to what it shows, under the grant that it was given for.
  const approver: Approver = {
    approve: ({ grant: { id } }) =>
      Promise.resolve(permit !== undefined && id === grant.grant.id ? { kind: "permitted", permit } : required),
  };
  const decision = await decideOn(ports, { context, request: accepted, view }, spend, signal, approver);
  signal.throwIfAborted();
  return decision.kind === "allow";
}
