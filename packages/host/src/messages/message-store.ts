import { sql, type Transaction } from "kysely";
import { canonicalJson, principalKey, type MessageEnvelope, type PrincipalRef } from "turnpike/contracts";
import { columnText, fixedLimits, limitSettings } from "../shared/index.ts";
import { stepOf, type Database, type Schema, type Step } from "../storage/index.ts";

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
  { db, reporting, read, transact, kind }: Database,
  { maxUnacknowledged = limitSettings.unreadMessages.default }: { maxUnacknowledged?: number } = {},
): MessageStore {
  const maxOfSender = Math.ceil(maxUnacknowledged * fixedLimits.senderShare.value);
  /**
   * Locks an inbox until the transaction ends. INVARIANT: every write to an inbox holds this lock. So sequence numbers are
   * committed in order, and a reader never sees one before those below it.
   */
  const lock = (transaction: Database["db"], mine: InboxColumns) => {
    const head = transaction
      .selectFrom("inboxes")
      .select(["sequence", "unacknowledged"])
      .where((row) => row.and(mine));
    return kind === "postgres" ? head.forUpdate() : head;
  };

  /**
   * All statements of a delivery, which are sent at once. What is written is decided by the database, under the lock; why nothing was
   * written shows in what was read.
   */
  const deliverySteps = (mine: InboxColumns, envelope: MessageEnvelope, at: string): Step[] => {
    const { namespace_id, receiver } = mine;
    const { sender, id } = senderColumns(envelope);
    const made = db.insertInto("inboxes").values({ ...mine, sequence: 0, unacknowledged: 0 });
    const sent = db.selectFrom("messages").where((row) => row.and({ namespace_id, sender, id }));
    const waiting = db.selectFrom("messages").where((row) => row.and({ ...mine, sender, acknowledged_at: null }));
    const count = waiting.select(({ fn }) => fn.countAll<number>().as("waiting"));
    const stored = sql`insert into messages (namespace_id, receiver, sequence, sender, id, content, received_at)
      select namespace_id, receiver, sequence + 1, ${sender}, ${id}, ${JSON.stringify(envelope)}, ${at} from inboxes
      where namespace_id = ${namespace_id} and receiver = ${receiver} and unacknowledged < ${maxUnacknowledged}
        and ${count} < ${maxOfSender} and not exists ${sent.select("sequence")}
      on conflict do nothing`;
    const counted = sql`update inboxes set sequence = sequence + 1, unacknowledged = unacknowledged + 1
      where namespace_id = ${namespace_id} and receiver = ${receiver} and exists (select 1 from messages
        where messages.namespace_id = inboxes.namespace_id and messages.receiver = inboxes.receiver
          and messages.sequence = inboxes.sequence + 1)`;
    return [
      made.onConflict((conflict) => conflict.doNothing()).compile(),
      lock(db, mine).compile(),
      sent.select("content").compile(),
      count.compile(),
      stored.compile(db),
      counted.compile(db),
    ].map(stepOf);
  };

  const store = async (mine: InboxColumns, envelope: MessageEnvelope, at: string): Promise<Delivery> => {
    const steps = deliverySteps(mine, envelope, at);
    const [, head, sent, count, stored] = await transact((run) => run(steps, "commit"));
    if (stored?.changes[0] === 1) return "stored";
    const [earlier] = sent?.rows ?? [];
    if (earlier !== undefined) return isSameMessage(String(earlier["content"]), envelope) ? "stored" : "conflict";
    if (Number(head?.rows[0]?.["unacknowledged"]) >= maxUnacknowledged) return "full";
    if (Number(count?.rows[0]?.["waiting"]) >= maxOfSender) return "crowded";
    // Under the lock of the inbox only a message to another receiver can have taken the id meanwhile.
    return "conflict";
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
      return store(columnsOf({ namespaceId, receiver: envelope.receiver }), envelope, at);
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
