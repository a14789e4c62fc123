import type { AccessContext, Act, AuthorizationRequest, JsonObject } from "../contracts/index.ts";
import { canonicalJson, sha256 } from "../internal/index.ts";
import type { CompiledGrant } from "./active.ts";
import { record, recordOutcome, type AuditFacts } from "./audit.ts";
import { callPort, type Answer, type Ports } from "./call-port.ts";
import { deny, type Decision } from "./decide.ts";
import { isFor, readQuestion, readState, required, unavailable, type Approval, type Approver } from "./permits.ts";
import type { CallOptions, Permit, PermitState, PermitStore, Question } from "./ports.ts";

/** The request hash: equal for acts of equal content by the same actor, on the same authority, and for no others. */
export function requestHash(
  context: Pick<AccessContext, "namespaceId" | "actor" | "authority" | "owner" | "purpose">,
  act: Act,
): string {
  const { namespaceId, actor, authority, owner, purpose } = context;
  return sha256(canonicalJson({ namespaceId, actor, authority, owner, purpose, act }));
}

/** What an approval is about: an act that somebody wants to do, and how the trail names it. */
export interface ActToDecide {
  context: AccessContext;
  request: AuthorizationRequest | undefined;
  /** Exactly what is wanted; without it nobody can say yes to it. */
  act?: (() => Act) | undefined;
  facts?: Partial<AuditFacts> | undefined;
}

/** The approval of one act: what people said about it, read at most once, and the question that asks them. */
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
        return { ...required, question: said.value.question };
      case "permitted":
        return isFor(said.value.permit, grant.id, context) ? said.value : required;
      default:
        return required;
    }
  }

  /** Undefined when nobody knows exactly what is wanted. */
  get hash(): string | undefined {
    this.#act ??= this.#subject.act?.();
    this.#hash ??= this.#act && requestHash(this.#subject.context, this.#act);
    return this.#hash;
  }

  /** Of an allowed act, what the trail says of the yes that it used. */
  usedOf({ id, approvedBy }: Permit): JsonObject {
    return { permit: { id, requestHash: this.hash ?? "", approvedBy: [...approvedBy] } };
  }

  /**
   * A denial with where the yes is to be had that it lacks. Somebody is asked for it unless they are asked already; that is on
   * the trail first. Of an act that needs several things `request` is the one that is denied.
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
    // Whoever tries it, or asks about it, for the actor has to be known to the question that waits already.
    const isByOther = context.triedBy !== undefined || context.askedBy !== undefined;
    if (lacks.question !== undefined && !isByOther) return { ...denial, details: detailsOf(hash, lacks.question) };
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
    // INVARIANT: on the trail before anybody is asked, so not under the claim of the call, whose events may be kept later.
    if (!(await record(this.#ports, context, () => requested, signal))) return deny("audit_unavailable");
    const ask = (): ReturnType<PermitStore["ask"]> => permits.ask(context, { hash, act, request, grantId });
    const asked = await callPort(this.#ports, { port: "permits" }, signal, ask, readQuestion);
    if (asked.ok && asked.value !== "full") return { ...denial, details: detailsOf(hash, asked.value) };
    // The trail says that somebody was asked, which has to be taken back.
    const reason = asked.ok ? "too_many_escalations" : "permit_store_unavailable";
    const failed: AuditFacts = { ...requested, outcome: "failed", reason };
    await recordOutcome(this.#ports, context, () => failed, signal, this.#call);
    return asked.ok ? { ...denial, details: { requestHash: hash } } : deny("permit_store_unavailable");
  }
}

function detailsOf(hash: string, { id, expiresAt }: Question): JsonObject {
  return { escalationId: id, requestHash: hash, expiresAt };
}
