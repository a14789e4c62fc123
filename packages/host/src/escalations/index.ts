export type { LastingAnswer } from "./answers-of-credential.ts";
export { approvedGrant } from "./approved-grant.ts";
export { type ClosingOptions, createEscalationClosing, type EscalationClosing } from "./close-escalations.ts";
export type { Basis, EscalationEnd } from "./escalation-queue.ts";
export { type Answer, type Answered, type Withdrawn } from "./escalation-answers.ts";
export { createEscalationStore, type EscalationOptions, type EscalationStore } from "./escalation-store.ts";
export { createHeldCalls, type HeldCalls } from "./held-calls.ts";
export { holdCalls } from "./hold-calls.ts";
export { createPermitStore } from "./permit-store.ts";
