import type { DecisionLedger, PermitStore } from "turnpike/kernel";
import { limitSettings } from "../base/index.ts";
import { createReadCache, createRevisions, type Database } from "../storage/index.ts";
import { type AuditStore, createAuditStore } from "../audit/index.ts";
import {
  createCredentialStore,
  createPrincipalStore,
  createSessionStore,
  keptCaller,
  reviewerProblem,
  type CredentialStore,
  type PrincipalStore,
  type SessionStore,
} from "../access/index.ts";
import {
  createEscalationStore,
  createPermitStore,
  type EscalationOptions,
  type EscalationStore,
} from "../escalations/index.ts";
import { createFileStore, type FileStore } from "../files/index.ts";
import { createGrantStore, findGrant, type GrantStore, insertGrant, revokeGrant } from "../grants/index.ts";
import { createNamespaceSettingsStore, type NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import { createDeletedTenants, type DeletedTenants } from "../retention/index.ts";
import { createPinStore, type PinStore } from "../mcp-servers/index.ts";
import { createMessageStore, type MessageStore } from "../messages/index.ts";
import { type Deliveries, openDeliveries, type Webhook } from "../notify/index.ts";
import { createTurnJournal, type TurnJournalStore } from "../turns/index.ts";
import {
  createDecisionLedger,
  createReplayStore,
  createUsageStore,
  type HostUsageStore,
  type NoticesOf,
  openLedger,
  type ReplayStore,
} from "../ledger/index.ts";

/** All stores of the host. */
export interface Stores {
  grants: GrantStore;
  usage: HostUsageStore;
  credentials: CredentialStore;
  sessions: SessionStore;
  principals: PrincipalStore;
  settings: NamespaceSettingsStore;
  audit: AuditStore;
  decisions: DecisionLedger;
  replay: ReplayStore;
  turns: TurnJournalStore;
  files: FileStore;
  escalations: EscalationStore;
  permits: PermitStore;
  messages: MessageStore;
  tenants: DeletedTenants;
  mcpPins: PinStore;
  deliveries: Deliveries;
}

/** The limits of the stores. */
export interface StoreOptions {
  /** How long an escalation waits for an answer; a day unless given. */
  escalationMs?: number;
  /** How many escalations of one actor wait at a time; 100 unless given. */
  openEscalations?: number;
  /** How many people have to approve an escalation; one unless given. */
  approvals?: number;
  /** How long a yes to an act can be used unless it says so itself; 15 minutes unless given. */
  permitMs?: number;
  /** How long a yes lasts at most; a day unless given. */
  maxPermitMs?: number;
  /** For how long a no to an act counts, and that nobody answered in time; an hour unless given. */
  refusalMs?: number;
  /** How many turns of one actor that have not ended there may be; 1,000 unless given. */
  openTurns?: number;
  /** How many bytes may be kept of them; 64 MiB unless given. */
  openTurnBytes?: number;
  /** How many messages wait in one inbox; 10,000 unless given. */
  unreadMessages?: number;
  /** Told of a new escalation in its transaction. */
  onOpened?: EscalationOptions["onOpened"];
  /** Told of an answer in its transaction, once the turns that waited for it are woken. */
  onAnswered?: EscalationOptions["onAnswered"];
  /** Told of a yes that was taken back, in its transaction. */
  onWithdrawn?: EscalationOptions["onWithdrawn"];
  /** Told once of an escalation that nobody answered in time, in the transaction that marks it. */
  onExpired?: EscalationOptions["onExpired"];
  /** Whom the host tells what happens; nobody unless given. */
  webhooks?: readonly Webhook[];
  /** The messages to webhooks about rows of the audit trail, which are kept with those rows. */
  noticesOf?: NoticesOf | undefined;
}

/** Opens every store of a database. The stores that are read on every call share one cache. */
export function openStores(database: Database, options: StoreOptions = {}): Stores {
  const { escalationMs = 86_400_000, openEscalations = limitSettings.openEscalations.default } = options;
  const { openTurns, openTurnBytes, unreadMessages } = options;
  const { approvals = 1, permitMs = 900_000, maxPermitMs = 86_400_000, refusalMs = 3_600_000 } = options;
  const ledger = openLedger(database, options.noticesOf);
  const revisions = createRevisions(database);
  const cache = createReadCache(revisions);
  const credentials = createCredentialStore(database, cache, revisions);
  const turns = createTurnJournal(database, ledger, {
    credentialOf: keptCaller,
    most: {
      turns: openTurns ?? limitSettings.openTurns.default,
      bytes: openTurnBytes ?? limitSettings.openTurnBytes.default,
    },
  });
  const { onOpened, onAnswered, onWithdrawn, onExpired } = options;
  const queue = {
    keepMs: escalationMs,
    maxOpen: openEscalations,
    ...(onOpened && { onOpened }),
    ...(onExpired && { onExpired }),
  };
  const escalations = createEscalationStore(database, revisions, {
    ...queue,
    approvals,
    permitMs,
    maxPermitMs,
    issueGrant: insertGrant,
    findGrant,
    revokeGrant,
    reviewerProblem,
    ...(onWithdrawn && { onWithdrawn }),
    async onAnswered(transaction, record, grant) {
      await turns.wakeAnswered(transaction, {
        namespaceId: record.namespaceId,
        id: record.id,
        status: record.status === "approved" ? "approved" : "denied",
        grantId: grant?.id,
        grantExpiresAt: grant?.constraints.expiresAt,
        now: record.decidedAt ?? new Date().toISOString(),
      });
      await onAnswered?.(transaction, record, grant);
    },
  });
  return {
    grants: createGrantStore(database, cache, revisions),
    usage: createUsageStore(database, ledger),
    credentials,
    sessions: createSessionStore(database, { cache, revisions, credentials }),
    principals: createPrincipalStore(database),
    settings: createNamespaceSettingsStore(database, cache, revisions),
    audit: createAuditStore(database, ledger),
    decisions: createDecisionLedger(ledger),
    replay: createReplayStore(database, {}, ledger),
    turns,
    tenants: createDeletedTenants(database, cache, revisions),
    mcpPins: createPinStore(database, revisions),
    deliveries: openDeliveries(database, options.webhooks ?? []),
    files: createFileStore(database),
    messages: createMessageStore(database, unreadMessages === undefined ? {} : { maxUnacknowledged: unreadMessages }),
    escalations,
    permits: createPermitStore(database, ledger, { ...queue, refusalMs }),
  };
}
