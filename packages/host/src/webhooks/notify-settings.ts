import { z } from "zod";
import { EnvironmentNameSchema, isLoopback } from "../shared/index.ts";

const eventTypes = ["escalation.opened", "escalation.answered", "escalation.expired", "decision.denied"] as const;

/** What a webhook can be told of. */
export type NotifyEvent = (typeof eventTypes)[number];

const WebhookSchema = z.strictObject({
  url: z.string().superRefine((text, { addIssue }) => {
    const message = urlMistake(text);
    if (message !== undefined) addIssue({ code: "custom", message });
  }),
  secretEnv: EnvironmentNameSchema.describe("environment variable with the secret that messages are signed with"),
  events: z
    .array(z.enum(eventTypes))
    .min(1)
    .default(["escalation.opened", "escalation.answered", "escalation.expired"]),
});

export const NotifySettingsSchema = z.strictObject({
  webhooks: z
    .array(WebhookSchema)
    .max(16)
    .refine((webhooks) => new Set(webhooks.map(hrefOf)).size === webhooks.length, "expected each url once")
    .default([])
    .describe("who is told what happens"),
  consoleUrl: z
    .string()
    .refine(isBaseUrl, "expected an http or https URL without credentials, query and fragment")
    .optional()
    .describe("beginning of the links in messages"),
});

/** Who is told, and where the links lead. */
export type NotifySettings = z.infer<typeof NotifySettingsSchema>;

/** Messages name people and tenants, so beyond this machine TLS is required. */
function urlMistake(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "expected an https URL";
  if (url.username !== "" || url.password !== "") return "expected no credentials in a URL; messages are signed";
  return url.protocol === "https:" || isLoopback(url.hostname) ? undefined : "expected https beyond this machine";
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "");
}

/** Two spellings of one address are the same webhook. */
export function hrefOf({ url }: { url: string }): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

/** The settings without what may be a secret: path and query of a URL are hidden. */
export function withoutNotifySecrets(settings: NotifySettings): NotifySettings {
  const webhooks = settings.webhooks.map((webhook) => ({ ...webhook, url: shownUrl(hrefOf(webhook)) }));
  return { ...settings, webhooks };
}

/** A URL as logs and people see it: a receiver's path may be as good as its secret. */
export function shownUrl(href: string): string {
  const { origin, pathname, search } = new URL(href);
  return pathname === "/" && search === "" ? origin : `${origin}/***`;
}
