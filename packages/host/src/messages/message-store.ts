import type { Transaction } from "kysely";
import { canonicalJson, principalKey, type MessageEnvelope, type PrincipalRef } from "turnpike/contracts";
import { columnText, fixedLimits, limitSettings } from "../shared/index.ts";
import type { Database, Schema } from "../storage/index.ts";

/** The inbox of a receiver in a tenant. */
export interface Inbox {
  namespaceId: string;
  receiver: PrincipalRef;
}

/** A message in an inbox. Sequence numbers only grow: none appears later below one that was read. */
export interface ReceivedMessage {
  sequence: number;
  envelope: MessageEnvelope;
  receivedAt: string;
  isAcknowledged: boolean;
}

/**
 * The outcome of a delivery. `crowded`: the sender has as many unacknowledged messages in the inbox as one may have.
 * `conflict`: the sender has used the id for another message.
 */
export type Delivery = "stored" | "full" | "crowded" | "conflict";

/** The inboxes of every tenant. */
export interface MessageStore {
  /** Stores a message. Delivering the same message again changes nothing. */
  deliver(envelope: MessageEnvelope, namespaceId: string, at: string): Promise<Delivery>;
  /** The messages after the sequence `after`, in the order of delivery. There are fewer when they are large. */
  inbox(
    inbox: Inbox,
    page: { after?: number; limit: number; includeAcknowledged?: boolean },
  ): Promise<ReceivedMessage[]>;
  /** Acknowledges for each id the first unacknowledged message. Returns the ids that are not in the inbox. */
  acknowledge(inbox: Inbox, ids: readonly string[], at: string): Promise<string[]>;
  /** Whether the owner of the inbox received or sent a message of this id. */
  knows(inbox: Inbox, id: string): Promise<boolean>;
  /** Whether exactly this message is in its receiver's inbox, so that its sender is verified. */
  holds(namespaceId: string, envelope: MessageEnvelope): Promise<boolean>;
  /** How many messages of all tenants wait to be acknowledged. */
  countUnacknowledged(): Promise<number>;
}

/** A page ends after so many characters, because many large messages would be too much for one answer. */
const pageLength = 1_000_000;

/** It runs before every turn, so it is prepared once. */
const heldSql = "select content from messages where namespace_id = $1 and sender = $2 and id = $3";

/**
 * An inbox holds up to `maxUnacknowledged` unacknowledged messages, of which one sender has at most a tenth. Further deliveries
 * are refused.
 */
export function createMessageStore(
  { db, reporting, read, kind }: Database,
  { maxUnacknowledged = limitSettings.unreadMessages.default }: { maxUnacknowledged?: number } = {},
): MessageStore {
  const maxOfSender = Math.ceil(maxUnacknowledged * fixedLimits.senderShare.value);
  /**
   * Locks an inbox until the transaction ends. INVARIANT: every write to an inbox holds this lock. So sequence numbers are
   * committed in order, and a reader never sees one before those below it.
   */
  const lock = (transaction: Transaction<Schema>, mine: InboxColumns) => {
    const head = transaction
      .selectFrom("inboxes")
      .select(["sequence", "unacknowledged"])
      .where((row) => row.and(mine));
    return kind === "postgres" ? head.forUpdate() : head;
  };

  const store = async (
    transaction: Transaction<Schema>,
    mine: InboxColumns,
    envelope: MessageEnvelope,
    at: string,
  ): Promise<Delivery> => {
    await transaction
      .insertInto("inboxes")
      .values({ ...mine, sequence: 0, unacknowledged: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const head = await lock(transaction, mine).executeTakeFirstOrThrow();
    const earlier = await sentUnder(transaction, mine.namespace_id, envelope);
    if (earlier !== undefined) return isSameMessage(earlier.content, envelope) ? "stored" : "conflict";
    if (head.unacknowledged >= maxUnacknowledged) return "full";
    const { sender, id } = senderColumns(envelope);
    const { waiting } = await transaction
      .selectFrom("messages")
      .select(({ fn }) => fn.countAll<number>().as("waiting"))
      .where((row) => row.and({ ...mine, sender, acknowledged_at: null }))
      .executeTakeFirstOrThrow();
    if (waiting >= maxOfSender) return "crowded";

    const sequence = head.sequence + 1;
    const content = JSON.stringify(envelope);
    const stored = await transaction
      .insertInto("messages")
      .values({ ...mine, sequence, sender, id, content, received_at: at, acknowledged_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .returning("sequence")
      .executeTakeFirst();
    // This transaction holds the lock of the inbox, so the id was used for a message to another receiver.
    if (stored === undefined) return "conflict";
    await transaction
      .updateTable("inboxes")
      .set({ sequence, unacknowledged: head.unacknowledged + 1 })
      .where((row) => row.and(mine))
      .execute();
    return "stored";
  };

  const settle = async (
    transaction: Transaction<Schema>,
    mine: InboxColumns,
    ids: readonly string[],
    at: string,
  ): Promise<string[]> => {
    const head = await lock(transaction, mine).executeTakeFirst();
    if (head === undefined) return [...ids];
    const found = await transaction
      .selectFrom("messages")
      .select(({ fn }) => [
        "id",
        fn
          .min("sequence")
          .filterWhere((row) => row.and({ acknowledged_at: null }))
          .as("waiting"),
      ])
      .where((row) => row.and(mine))
      .where("id", "in", ids.map(columnText))
      .groupBy("id")
      .execute();
    const sequences = found.flatMap(({ waiting }) => waiting ?? []);
    if (sequences.length > 0) {
      await transaction
        .updateTable("messages")
        .set({ acknowledged_at: at })
        .where((row) => row.and(mine))
        .where("sequence", "in", sequences)
        .execute();
      await transaction
        .updateTable("inboxes")
        .set({ unacknowledged: head.unacknowledged - sequences.length })
        .where((row) => row.and(mine))
        .execute();
    }
    const known = new Set(found.map(({ id }) => id));
    return ids.filter((id) => !known.has(columnText(id)));
  };

  return {
    deliver(envelope, namespaceId, at) {
      const mine = columnsOf({ namespaceId, receiver: envelope.receiver });
      return db.transaction().execute((transaction) => store(transaction, mine, envelope, at));
    },
    async inbox(inbox, { after = 0, limit, includeAcknowledged = false }) {
      const mine = { ...columnsOf(inbox), ...(!includeAcknowledged && { acknowledged_at: null }) };
      const all = db
        .selectFrom("messages")
        .where((row) => row.and(mine))
        .where("sequence", ">", after)
        .orderBy("sequence");
      const sizes = await all
        .select(({ fn }) => ["sequence", fn<number>("length", ["content"]).as("length")])
        .limit(limit)
        .execute();
      const last = endOfPage(sizes);
      if (last === undefined) return [];
      return (await all.selectAll().where("sequence", "<=", last).execute()).map(messageOf);
    },
    acknowledge(inbox, ids, at) {
      if (ids.length === 0) return Promise.resolve([]);
      return db.transaction().execute((transaction) => settle(transaction, columnsOf(inbox), ids, at));
    },
    async knows(inbox, id) {
      const { receiver, ...tenant } = columnsOf(inbox);
      const found = await db
        .selectFrom("messages")
        .select("sequence")
        .where((row) => row.and({ ...tenant, id: columnText(id) }))
        .where((row) => row.or({ receiver, sender: receiver }))
        .limit(1)
        .executeTakeFirst();
      return found !== undefined;
    },
    async holds(namespaceId, envelope) {
      const { sender, id } = senderColumns(envelope);
      const [found] = await read<Pick<Schema["messages"], "content">>(heldSql, [columnText(namespaceId), sender, id]);
      return found !== undefined && isSameMessage(found.content, envelope);
    },
    async countUnacknowledged() {
      const { total } = await reporting
        .selectFrom("inboxes")
        .select(({ fn }) => fn.sum<number | null>("unacknowledged").as("total"))
        .executeTakeFirstOrThrow();
      return total ?? 0;
    },
  };
}

type InboxColumns = Pick<Schema["inboxes"], "namespace_id" | "receiver">;

function columnsOf({ namespaceId, receiver }: Inbox): InboxColumns {
  return { namespace_id: columnText(namespaceId), receiver: columnText(principalKey(receiver)) };
}

function senderColumns({ sender, id }: MessageEnvelope): Pick<Schema["messages"], "sender" | "id"> {
  return { sender: columnText(principalKey(sender)), id: columnText(id) };
}

/** The message that the sender sent under this id before, to any receiver. */
function sentUnder(
  db: Database["db"],
  namespaceId: string,
  envelope: MessageEnvelope,
): Promise<Pick<Schema["messages"], "content"> | undefined> {
  return db
    .selectFrom("messages")
    .select("content")
    .where((row) => row.and({ namespace_id: columnText(namespaceId), ...senderColumns(envelope) }))
    .executeTakeFirst();
}

/** The last sequence of a page. No further message is added once the page is long enough. */
function endOfPage(sizes: readonly { sequence: number; length: number }[]): number | undefined {
  let [last, total]: [number | undefined, number] = [undefined, 0];
  for (const { sequence, length } of sizes) {
    if (total >= pageLength) break;
    last = sequence;
    total += length;
  }
  return last;
}

/** Whether it is the same message, sent again. The time of sending may differ. */
function isSameMessage(content: string, { createdAt: _again, ...envelope }: MessageEnvelope): boolean {
  const { createdAt: _first, ...first } = JSON.parse(content) as MessageEnvelope;
  return canonicalJson(first) === canonicalJson(envelope);
}

function messageOf({ sequence, content, received_at, acknowledged_at }: Schema["messages"]): ReceivedMessage {
  return {
    sequence,
    envelope: JSON.parse(content) as MessageEnvelope,
    receivedAt: received_at,
    isAcknowledged: acknowledged_at !== null,
  };
}
