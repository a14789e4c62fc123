import type { Answerer } from "../../access/index.ts";
import type { AuditStore } from "../../audit/index.ts";
import type { ConnectionStore } from "../../connections/index.ts";
import type { EscalationStore } from "../../escalations/index.ts";
import type { GrantStore } from "../../grants/index.ts";
import type { PersonPorts } from "../../people/index.ts";

/** What a person's own page reads and changes. */
export interface PersonServices {
  stores: {
    audit: Pick<AuditStore, "list" | "findScanEnd">;
    escalations: EscalationStore;
    connections: Pick<ConnectionStore, "listOf" | "end">;
    grants: Pick<GrantStore, "list" | "revokeAll">;
  };
  ports: PersonPorts;
  /** Who answers escalations on this host. */
  answeredBy: readonly Answerer[];
  /** Resumes turns at once whose escalation was answered. */
  wakeTurns(): void;
}
