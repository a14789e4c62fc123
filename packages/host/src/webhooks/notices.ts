import { randomUUID } from "node:crypto";
import type { Transaction } from "kysely";
import type { AuditEvent } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { Notice, NoticesOf } from "../ledger/index.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import type { NotifyEvent } from "./notify-settings.ts";
import type { Webhook } from "./webhook.ts";

/** Writes the messages for webhooks in the transaction of the change that they are about. */
export interface Notices {
  onOpened(transaction: Transaction<Schema>, record: EscalationRecord): Promise<void>;
  onAnswered(transaction: Transaction<Schema>, record: EscalationRecord): Promise<void>;
  onWithdrawn(transaction: Transaction<Schema>, record: EscalationRecord): Promise<void>;
  onExpired(transaction: Transaction<Schema>, record: EscalationRecord): Promise<void>;
  onClosed(transaction: Transaction<Schema>, record: EscalationRecord): Promise<void>;
  /** The messages about decisions; undefined when no webhook wants them. */
  readonly noticesOf: NoticesOf | undefined;
  /** Sets how many denials wait for a webhook, which decides how many more are accepted. */
  setWaiting(webhook: Webhook, count: number): void;
}

/** What notices are made of. */
export interface NoticeOptions {
  webhooks: readonly Webhook[];
  consoleUrl(): string;
  clock(): Date;
  /** Called for a denial that is dropped because too many wait. `isFirst` is true for the first one since there was room. */
  onDropped(webhook: Webhook, isFirst: boolean): void;
}

/** How many denials wait for one webhook. Escalations have a limit of their own. */
export const maxDenials = 10_000;

interface Room {
  left: number;
  /** The denials of the newest batch. They may not be committed yet, so no count includes them. */
  newest: number;
  isFull: boolean;
}

export function createNotices({ webhooks, consoleUrl, clock, onDropped }: NoticeOptions): Notices {
  const rooms = new Map(
    webhooks.map((webhook): [Webhook, Room] => [webhook, { left: maxDenials, newest: 0, isFull: false }]),
  );
  const wantedBy = (type: NotifyEvent): Webhook[] =>
    webhooks.filter(({ events, isGone }) => !isGone && events.has(type));
  const noticeFor = ({ key }: Webhook, type: NotifyEvent, namespaceId: string, content: string): Notice => {
    const at = clock().toISOString();
    const message = `msg_${randomUUID().replaceAll("-", "")}`;
    return {
      webhook: key,
      message,
      namespace_id: columnText(namespaceId),
      type,
      content,
      created_at: at,
      due_at: at,
    };
  };
  const put = async (
    transaction: Transaction<Schema>,
    type: NotifyEvent,
    record: EscalationRecord,
    timestamp: string,
  ): Promise<void> => {
    const wanted = wantedBy(type);
    if (wanted.length === 0) return;
    const content = bodyOf(type, timestamp, escalationData(record, consoleUrl()));
    const rows = wanted.map((webhook) => noticeFor(webhook, type, record.namespaceId, content));
    await transaction.insertInto("outbox").values(rows).execute();
  };

  const takeRoom = (webhook: Webhook): boolean => {
    const room = rooms.get(webhook);
    if (room === undefined) return false;
    if (room.left > 0) {
      room.left -= 1;
      room.newest += 1;
      return true;
    }
    onDropped(webhook, !room.isFull);
    room.isFull = true;
    return false;
  };
  const noticesOf: NoticesOf = (rows) => {
    for (const room of rooms.values()) room.newest = 0;
    const denials = rows.filter(({ type, outcome }) => type === "authorization.checked" && outcome === "denied");
    if (denials.length === 0) return [];
    const wanted = wantedBy("decision.denied");
    return denials.flatMap(({ content }) => {
      const event = JSON.parse(content) as AuditEvent;
      const body = bodyOf("decision.denied", event.at, denialData(event));
      return wanted.filter(takeRoom).map((webhook) => noticeFor(webhook, "decision.denied", event.namespaceId, body));
    });
  };

  return {
    onOpened: (transaction, record) => put(transaction, "escalation.opened", record, record.requestedAt),
    onAnswered: (transaction, record) =>
      put(transaction, "escalation.answered", record, record.decidedAt ?? clock().toISOString()),
    // A webhook that was told of the answer is told that it was withdrawn.
    onWithdrawn: (transaction, record) =>
      put(transaction, "escalation.answered", record, record.withdrawal?.at ?? clock().toISOString()),
    onExpired: (transaction, record) =>
      put(transaction, "escalation.expired", record, record.closed?.at ?? record.expiresAt),
    onClosed: (transaction, record) =>
      put(transaction, "escalation.expired", record, record.closed?.at ?? record.expiresAt),
    noticesOf: webhooks.some(({ events }) => events.has("decision.denied")) ? noticesOf : undefined,
    setWaiting(webhook, count) {
      const room = rooms.get(webhook);
      if (room === undefined) return;
      room.left = maxDenials - count - room.newest;
      if (count < maxDenials / 2) room.isFull = false;
    },
  };
}

function bodyOf(type: NotifyEvent, timestamp: string, data: object): string {
  return JSON.stringify({ type, timestamp, data });
}

/** INVARIANT: it has no argument, payload, path or word of an agent. Each field is named here; none is passed through. */
function escalationData(record: EscalationRecord, consoleUrl: string): object {
  const { namespaceId, id, executionId, requester, ask, approval, status, requestedAt, expiresAt } = record;
  const { decidedAt, decidedBy, approvals, permitExpiresAt, withdrawal } = record;
  return {
    tenant: namespaceId,
    escalationId: id,
    executionId,
    about: approval === undefined ? "authority" : "act",
    ...(approval && actFacts(approval)),
    actor: requester,
    triedBy: record.triedBy,
    askedBy: record.askedBy,
    requestHash: ask,
    status,
    requestedAt,
    expiresAt,
    decidedAt,
    decidedBy,
    approvedBy: approvals?.map(({ by }) => by),
    permitExpiresAt,
    withdrawnAt: withdrawal?.at,
    withdrawnBy: withdrawal?.by,
    closedAt: record.closed?.at,
    closedReason: record.closed?.reason,
    link: escalationLink(consoleUrl, namespaceId, id),
  };
}

/** The console's address of an escalation. A JWT may name a tenant with half of a surrogate pair, which no URL can hold. */
export function escalationLink(consoleUrl: string, namespaceId: string, id: string): string {
  const base = consoleUrl.endsWith("/") ? consoleUrl.slice(0, -1) : consoleUrl;
  return `${base}/${encodeURIComponent(columnText(namespaceId))}/questions/${encodeURIComponent(id)}`;
}

/** A tool's action may depend on its arguments, so the name of the tool is sent instead. */
function actFacts({ act, request }: NonNullable<EscalationRecord["approval"]>): object {
  return "tool" in act ? { tool: act.tool } : { action: request.action };
}

function denialData({ id, namespaceId, executionId, actor, tool, action, reason, metadata }: AuditEvent): object {
  const { requestHash, triedBy, askedBy } = metadata ?? {};
  return {
    tenant: namespaceId,
    eventId: id,
    executionId,
    ...(tool === undefined ? { action } : { tool }),
    actor,
    triedBy,
    askedBy,
    ...(typeof requestHash === "string" && { requestHash }),
    reasonCode: reason,
  };
}
