import type { StoreOptions } from "../../src/compose/stores.ts";
import type { Notice } from "../../src/ledger/submission.ts";

function noticeOf(namespaceId: string, message: string): Notice {
  const at = "2026-01-01T12:00:00.000Z";
  const about = { namespace_id: namespaceId, type: "escalation.opened", content: "{}" };
  return { webhook: "hook", message, ...about, created_at: at, due_at: at };
}

/** Tells a webhook of everything that a host can tell it of. */
export function createStoredNotices(): Pick<StoreOptions, "onOpened" | "onAnswered" | "onExpired" | "noticesOf"> {
  const tell: NonNullable<StoreOptions["onOpened"]> = (transaction, { namespaceId, id }) =>
    transaction.insertInto("outbox").values(noticeOf(namespaceId, id)).execute();
  return {
    onOpened: tell,
    onAnswered: tell,
    onExpired: tell,
    noticesOf: (rows) => rows.map(({ namespace_id, id }) => noticeOf(namespace_id, id)),
  };
}
