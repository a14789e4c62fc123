import { expect, test } from "vitest";
import { auditEvent } from "../../test/records.ts";
import { entryOf } from "../ledger/index.ts";
import { createNotices, maxDenials } from "./notices.ts";
import { NotifySettingsSchema } from "./notify-settings.ts";
import { openWebhooks } from "./webhook.ts";

const webhook = { url: "https://example.com", secretEnv: "HOOK", events: ["decision.denied"] };

function openDenials() {
  const webhooks = openWebhooks(NotifySettingsSchema.parse({ webhooks: [webhook] }), { HOOK: "x".repeat(24) });
  const dropped: boolean[] = [];
  const notices = createNotices({
    webhooks,
    consoleUrl: () => "",
    clock: () => new Date("2026-01-01T12:00:00.000Z"),
    onDropped: (_webhook, isFirst) => void dropped.push(isFirst),
  });
  const denials = (count: number): number =>
    notices.noticesOf?.(
      Array.from({ length: count }, (_, place) =>
        entryOf(auditEvent(`event-${place}`, { type: "authorization.checked", outcome: "denied" })),
      ),
    ).length ?? -1;
  const setWaiting = (count: number): void => webhooks.forEach((each) => notices.setWaiting(each, count));
  return { dropped, denials, setWaiting, webhooks };
}

test("denials that may not be stored yet count as waiting", () => {
  const { denials, setWaiting } = openDenials();
  expect(denials(10)).toBe(10);
  setWaiting(maxDenials - 15);
  expect(denials(10)).toBe(5);
});

test("that too many wait is said once, and once more after half of them were sent", () => {
  const { dropped, denials, setWaiting } = openDenials();
  setWaiting(maxDenials);
  denials(3);
  setWaiting(maxDenials - 1);
  denials(2);
  setWaiting(4_999);
  denials(1);
  setWaiting(maxDenials);
  denials(2);
  expect(dropped).toEqual([true, false, false, false, true, false]);
});

test("a webhook that is gone is told of nothing more", () => {
  const { denials, webhooks } = openDenials();
  for (const each of webhooks) each.isGone = true;
  expect(denials(3)).toBe(0);
});
