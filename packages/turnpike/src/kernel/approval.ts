import type { AccessContext, Act, AuthorizationRequest, JsonObject } from "../contracts/index.ts";
import { canonicalJson, sha256 } from "../internal/index.ts";
import type { CompiledGrant } from "./active.ts";
import { record, recordOutcome, type AuditFacts } from "./audit.ts";
import { callPort, type Answer, type Ports } from "./call-port.ts";
import { deny, type Decision } from "./decide.ts";
import { isFor, readReference, readState, required, unavailable, type Approval, type Approver } from "./permits.ts";
import type { CallOptions, Permit, PermitState, PermitStore, EscalationRef } from "./ports.ts";

/**
 * The request hash: equal for acts of equal content by the same actor, on the same authority, and for no others.
 *
 * @example
 * import { requestHash } from "turnpike/kernel";
 *
 * const act = { kind: "tool", tool: "mail.send", arguments: { to: "bob" } } as const;
 * console.log(requestHash(context, act).length); // 64
 */
export function requestHash(
  context: Pick<AccessContext, "namespaceId" | "actor" | "authority" | "owner" | "purpose">,
  act: Act,
): string {
  const { namespaceId, actor, authority, owner, purpose } = context;
  return sha256(canonicalJson({ namespaceId, actor, authority, owner, purpose, act }));
}

/** What an approval is about: an act, and how the audit log names it. */
export interface ActToDecide {
  context: AccessContext;
  request: AuthorizationRequest | undefined;
  /** The exact act; without it the act cannot be approved. */
  act?: (() => Act) | undefined;
  facts?: Partial<AuditFacts> | undefined;
}

/** The approval of one act: its state, read at most once, and the escalation that asks for it. */
export class ActApproval implements Approver {
  readonly #ports: Ports;
  readonly #subject: ActToDecide;
  readonly #call: CallOptions & { signal: AbortSignal };
  #act: Act | undefined;
  #hash: string | undefined;
  #said: Promise<Answer<PermitState | undefined>> | undefined;

  constructor(ports: Ports, subject: ActToDecide, call: CallOptions & { signal: AbortSignal }) {
    this.#ports = ports;
    this.#subject = subject;
    this.#call = call;
  }

  async approve({ grant }: CompiledGrant): Promise<Approval> {
    const { permits } = this.#ports;
    const { context } = this.#subject;
    const hash = this.hash;
    if (permits === undefined || hash === undefined) return required;
    this.#said ??= callPort(
      this.#ports,
      { port: "permits" },
      this.#call.signal,
      () => permits.find(context.namespaceId, hash, context.now),
      readState,
    );
    const said = await this.#said;
    if (!said.ok) return unavailable;
    switch (said.value?.kind) {
      case "refused":
        return { kind: "lacking", refusal: said.value.reason };
      case "asked":
        return { ...required, escalation: said.value.escalation };
      case "permitted":
        return isFor(said.value.permit, grant.id, context) ? said.value : required;
      default:
        return required;
    }
  }

  /** Undefined when the exact act is unknown. */
  get hash(): string | undefined {
    this.#act ??= this.#subject.act?.();
    this.#hash ??= this.#act && requestHash(this.#subject.context, this.#act);
    return this.#hash;
  }

  /** What the audit log says of the permit that an allowed act used. */
  usedOf({ id, approvedBy }: Permit): JsonObject {
    return { permit: { id, requestHash: this.hash ?? "", approvedBy: [...approvedBy] } };
  }

  /**
   * The denial, with the escalation that asks for the missing approval. One is opened unless one is open already, and the audit
   * log says so first. Of an act that needs several things `request` is the one that is denied.
   */
  async ask(
    denial: Decision & { kind: "deny" },
    request: AuthorizationRequest | undefined = this.#subject.request,
  ): Promise<Decision> {
    const { lacks } = denial;
    const { permits } = this.#ports;
    const { context, facts } = this.#subject;
    const [hash, act] = [this.hash, this.#act];
    if (
      lacks === undefined ||
      permits === undefined ||
      request === undefined ||
      hash === undefined ||
      act === undefined
    )
      return denial;
    // An open escalation must also name the operator or the enforcement point that acts for the actor.
    const isByOther = context.triedBy !== undefined || context.askedBy !== undefined;
    if (lacks.escalation !== undefined && !isByOther) return { ...denial, details: detailsOf(hash, lacks.escalation) };
    const grantId = lacks.grant.grant.id;
    const requested: AuditFacts = {
      ...facts,
      type: "escalation.requested",
      outcome: "escalated",
      receiver: context.owner,
      ...request,
      grantId,
      metadata: { requestHash: hash },
    };
    const { signal } = this.#call;
    // INVARIANT: recorded before a person is asked, so not in the scope of the call, whose events may wait.
    if (!(await record(this.#ports, context, () => requested, signal))) return deny("audit_unavailable");
    const ask = (): ReturnType<PermitStore["ask"]> => permits.ask(context, { hash, act, request, grantId });
    const asked = await callPort(this.#ports, { port: "permits" }, signal, ask, readReference);
    if (asked.ok && asked.value !== "full") return { ...denial, details: detailsOf(hash, asked.value) };
    // The audit log says that a person was asked, so a failed event has to follow.
    const reason = asked.ok ? "too_many_escalations" : "permit_store_unavailable";
    const failed: AuditFacts = { ...requested, outcome: "failed", reason };
    await recordOutcome(this.#ports, context, () => failed, signal, this.#call);
    return asked.ok ? { ...denial, details: { requestHash: hash } } : deny("permit_store_unavailable");
  }
}

function detailsOf(hash: string, { id, expiresAt }: EscalationRef): JsonObject {
  return { escalationId: id, requestHash: hash, expiresAt };
}
