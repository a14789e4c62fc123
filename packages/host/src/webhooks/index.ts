export { createNotices, escalationLink } from "./notices.ts";
export { NotifySettingsSchema, withoutNotifySecrets } from "./notify-settings.ts";
export { type Deliveries, type DeliveryPlace, openDeliveries } from "./deliveries.ts";
export { openOutbox } from "./outbox.ts";
export { createSender } from "./sender.ts";
export { openWebhooks, type Webhook } from "./webhook.ts";
