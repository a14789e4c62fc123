export { approvedGrant } from "./approved-grant.ts";
export { type Answered, createEscalationStore, type EscalationStore } from "./escalation-store.ts";
