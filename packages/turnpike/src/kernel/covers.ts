import type { AccessContext, AuthorizationRequest, ResourceOperation, ToolCall } from "../contracts/index.ts";
import { ReturnOverride } from "../internal/index.ts";
import type { CompiledGrant } from "./active.ts";
import type { AuthorityView } from "./authority.ts";
import { acceptRequest, decideOn } from "./authorize.ts";
import type { Ports } from "./call-port.ts";
import { nearestMismatch } from "./match.ts";
import { required, type Approver } from "./permits.ts";
import type { Permit } from "./ports.ts";
import { peek } from "./spend.ts";

/** A running act: the very object that its tool or provider got. */
export type RunningAct = ToolCall | ResourceOperation;

/** What an act was allowed with. */
interface DecisionBasis {
  /** The ports of the kernel that allowed the act. They identify that kernel, because no other one knows the act. */
  ports: Ports;
  context: AccessContext;
  grant: CompiledGrant;
  view: AuthorityView;
  /** The permit that it used. */
  permit?: Permit | undefined;
}

/** Sets the basis as a private field on the act, which no other code can set, and which needs no map that outlives the act. */
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

/** Freezes a new act that was allowed, and marks it with its basis. */
export function withBasis<Act extends RunningAct>(act: Act, basis: DecisionBasis): Act {
  BasisMark.put(act, basis);
  return Object.freeze(act);
}

/**
 * Whether the authority with which a running act was allowed covers another request too. The use and the amounts that the act took count for
 * the request too; nothing else is taken, and nothing is recorded. An act that this kernel did not allow covers nothing.
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
  // Inside a turn only `decideOn` compares the grant with the one of the admission, which may have covered less.
  if (isByItself && ports.policy === undefined && view.admitted === undefined) return true;
  // The approval of the act counts for the request too, but only with the grant that it was given for.
  const approver: Approver = {
    approve: ({ grant: { id } }) =>
      Promise.resolve(permit !== undefined && id === grant.grant.id ? { kind: "permitted", permit } : required),
  };
  const decision = await decideOn(
    ports,
    { context, request: accepted, view, paid: grant.grant.id },
    peek,
    signal,
    approver,
  );
  signal.throwIfAborted();
  return decision.kind === "allow";
}
