import type { DecisionLedger, PermitStore } from "turnpike/kernel";
import { limitSettings, withMembers } from "../shared/index.ts";
import { createReadCache, createRevisions, type Database } from "../storage/index.ts";
import { type AuditStore, createAuditStore } from "../audit/index.ts";
import {
  type Answerer,
  createCredentialStore,
  createPrincipalStore,
  createSessionStore,
  findCredentialEnd,
  storedCaller,
  reviewerProblem,
  revokeCredential,
  type CredentialStore,
  type PrincipalStore,
  type SessionStore,
} from "../access/index.ts";
import {
  type Basis,
  type ClosingOptions,
  createEscalationStore,
  createPermitStore,
  createEscalationClosing,
  type EscalationOptions,
  type EscalationStore,
  type EscalationEnd,
} from "../escalations/index.ts";
import { createFileStore, type FileStore } from "../files/index.ts";
import {
  createGrantStore,
  createInvariantStore,
  findGrant,
  findGrantEnd,
  type GrantStore,
  type InvariantStore,
  insertGrant,
  revokeGrant,
} from "../grants/index.ts";
import { createNamespaceSettingsStore, type NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import { createDeletedTenants, type DeletedTenants } from "../retention/index.ts";
import {
  type ClientStore,
  type ConnectionStore,
  createClientStore,
  createConnectionStore,
  type OAuthConfig,
  OAuthConfigSchema,
} from "../connections/index.ts";
import { createPersonStore, type PersonStore } from "../people/index.ts";
import { createPinStore, type PinStore } from "../mcp-servers/index.ts";
import { createMessageStore, type MessageStore } from "../messages/index.ts";
import { type Deliveries, openDeliveries, type Webhook } from "../webhooks/index.ts";
import { createTurnJournal, type TurnJournalStore } from "../turns/index.ts";
import {
  createActStore,
  createDecisionLedger,
  createLossStore,
  createReplayStore,
  createUsageStore,
  type HostUsageStore,
  type LossStore,
  type NoticesOf,
  openLedger,
  type HostActStore,
  type ReplayStore,
} from "../ledger/index.ts";

/** All stores of the host. */
export interface Stores {
  /** As `Revisions.attempt`. */
  attempt<T>(act: () => Promise<T>): Promise<T>;
  grants: GrantStore;
  invariants: InvariantStore;
  usage: HostUsageStore;
  losses: LossStore;
  credentials: CredentialStore;
  sessions: SessionStore;
  principals: PrincipalStore;
  people: PersonStore;
  clients: ClientStore;
  connections: ConnectionStore;
  settings: NamespaceSettingsStore;
  audit: AuditStore;
  decisions: DecisionLedger;
  replay: ReplayStore;
  acts: HostActStore;
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
  /** How calls write; that of the database unless given. */
  transact?: Database["transact"];
  /** How long an escalation waits for an answer; a day unless given. */
  escalationMs?: number;
  /** How many escalations of one actor wait at a time; 100 unless given. */
  openEscalations?: number;
  /** How many people have to approve an escalation; one unless given. */
  approvals?: number;
  /** Who answers escalations; the person whose authority is used, and reviewers, unless given. */
  answeredBy?: readonly Answerer[];
  /** How long the approval of an act can be used unless it says so itself; 15 minutes unless given. */
  permitMs?: number;
  /** How long an approval lasts at most; a day unless given. */
  maxPermitMs?: number;
  /** For how long the denial of an act counts, and its expiry without an answer; an hour unless given. */
  refusalMs?: number;
  /** How many turns of one actor that have not ended there may be; 1,000 unless given. */
  openTurns?: number;
  /** How many bytes of them may be cached; 64 MiB unless given. */
  openTurnBytes?: number;
  /** How clients act for people; as a configuration says that says nothing unless given. */
  oauth?: OAuthConfig;
  /** How many messages wait in one inbox; 10,000 unless given. */
  unreadMessages?: number;
  /** Told of a new escalation in its transaction. */
  onOpened?: EscalationOptions["onOpened"];
  /** Told of an answer in its transaction, once the turns that waited for it are woken. */
  onAnswered?: EscalationOptions["onAnswered"];
  /** Called for an approval that is withdrawn, in its transaction. */
  onWithdrawn?: EscalationOptions["onWithdrawn"];
  /** Called once for an escalation that expired without an answer, in the transaction that marks it. */
  onExpired?: EscalationOptions["onExpired"];
  /** Called for an escalation that is closed because its answer would be of no use, once the turns that waited for it are woken. */
  onClosed?: ClosingOptions["onClosed"];
  /** Whom the host tells what happens; no one unless given. */
  webhooks?: readonly Webhook[];
  /** The messages to webhooks about rows of the audit log, which are stored with those rows. */
  noticesOf?: NoticesOf | undefined;
}

/** Opens every store of a database. The stores that are read on every call share one cache. */
export function openStores(database: Database, options: StoreOptions = {}): Stores {
  const { escalationMs = 86_400_000, openEscalations = limitSettings.openEscalations.default } = options;
  const { openTurns, openTurnBytes, unreadMessages } = options;
  const { answeredBy, approvals = 1, permitMs = 900_000, maxPermitMs = 86_400_000, refusalMs = 3_600_000 } = options;
  const { transact = database.transact, oauth = OAuthConfigSchema.parse({}) } = options;
  const revisions = createRevisions(database);
  const ledger = openLedger(withMembers(database, { transact }), options.noticesOf, revisions);
  const cache = createReadCache(revisions);
  const closing = createEscalationClosing({
    async onClosed(transaction, record) {
      const { namespaceId, id, closed } = record;
      const now = closed?.at ?? record.expiresAt;
      await turns.wakeAnswered(transaction, { namespaceId, id, status: "closed", reason: closed?.reason, now });
      await options.onClosed?.(transaction, record);
    },
  });
  const credentials = createCredentialStore(database, cache, revisions, { onRevoked: closing.ofCredential });
  const turns = createTurnJournal(database, ledger, {
    credentialOf: storedCaller,
    onCancelled: closing.ofCancelledTurn,
    most: {
      turns: openTurns ?? limitSettings.openTurns.default,
      bytes: openTurnBytes ?? limitSettings.openTurnBytes.default,
    },
  });
  const { onOpened, onAnswered, onWithdrawn, onExpired } = options;
  const queue = {
    lifetimeMs: escalationMs,
    maxOpen: openEscalations,
    endOf: endOfEscalation,
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
    async revokeGrant(transaction, namespaceId, grantId, at) {
      const isRevoked = await revokeGrant(transaction, namespaceId, grantId, at);
      if (isRevoked) await closing.ofGrants(transaction, namespaceId, [grantId], at);
      return isRevoked;
    },
    reviewerProblem: (db, credentialId, about, at) => reviewerProblem(db, credentialId, about, at, answeredBy),
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
    attempt: (act) => revisions.attempt(act),
    grants: createGrantStore(database, cache, revisions, { onRevoked: closing.ofGrants }),
    invariants: createInvariantStore(database, revisions),
    usage: createUsageStore(database, ledger),
    losses: createLossStore(database, revisions),
    credentials,
    sessions: createSessionStore(database, { cache, revisions, credentials }),
    principals: createPrincipalStore(database),
    people: createPersonStore(database, revisions),
    clients: createClientStore(database, oauth.clients),
    connections: createConnectionStore(database, revisions, {
      accessTokenMs: oauth.accessTokenMinutes * 60_000,
      refreshMs: oauth.refreshDays * 86_400_000,
      async revokeCredential(transaction, id, at) {
        if (await revokeCredential(transaction, id, at)) await closing.ofCredential(transaction, id, at);
      },
      async revokeGrants(transaction, namespaceId, ids, at) {
        for (const id of ids) await revokeGrant(transaction, namespaceId, id, at);
        await closing.ofGrants(transaction, namespaceId, ids, at);
      },
    }),
    settings: createNamespaceSettingsStore(database, cache, revisions),
    audit: createAuditStore(database, ledger),
    decisions: createDecisionLedger(ledger),
    replay: createReplayStore(database, ledger),
    acts: createActStore(database, ledger),
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

/** The first end among the grant and the credential that an escalation rests on. */
async function endOfEscalation(
  reader: Parameters<typeof findGrantEnd>[0],
  { namespaceId, credential, grantId }: Basis,
): Promise<EscalationEnd | undefined> {
  const ofGrant = grantId === undefined ? undefined : await findGrantEnd(reader, namespaceId, grantId);
  const ofCredential = credential === undefined ? undefined : await findCredentialEnd(reader, credential);
  if (ofCredential !== undefined && (ofGrant === undefined || ofCredential.at < ofGrant.at)) {
    const reason = ofCredential.isRevoked ? "credential_revoked" : "credential_expired";
    return { at: ofCredential.at, by: { reason, ...(credential !== undefined && { credential }) } };
  }
  if (ofGrant === undefined) return undefined;
  const reason = ofGrant.isRevoked ? "grant_revoked" : "grant_expired";
  return { at: ofGrant.at, by: { reason, grantId: ofGrant.grantId } };
}
