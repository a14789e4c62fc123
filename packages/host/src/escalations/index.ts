export { type Answer, type Answered } from "./escalation-answers.ts";
export { createEscalationStore, type EscalationOptions, type EscalationStore } from "./escalation-store.ts";
export { createPermitStore } from "./permit-store.ts";
