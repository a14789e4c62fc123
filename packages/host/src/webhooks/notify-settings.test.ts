import { describe, expect, test } from "vitest";
import { loadConfig, withoutSecrets } from "../compose/config.ts";
import { NotifySettingsSchema } from "./notify-settings.ts";

const secretEnv = "HOOK_SECRET";
const webhook = (url: string, changes: object = {}) => ({ url, secretEnv, ...changes });
const parse = (webhooks: unknown, rest: object = {}) => NotifySettingsSchema.safeParse({ webhooks, ...rest });

test("a webhook is told of escalations unless it says otherwise", () => {
  expect(parse([webhook("https://example.com/hook")]).data).toEqual({
    webhooks: [
      {
        url: "https://example.com/hook",
        secretEnv,
        events: ["escalation.opened", "escalation.answered", "escalation.expired"],
      },
    ],
  });
  expect(NotifySettingsSchema.parse({})).toEqual({ webhooks: [] });
});

describe("a webhook is taken", () => {
  for (const url of [
    "https://example.com/hook?tenant=1",
    "http://127.0.0.1:9999/hook",
    "http://localhost/hook",
    "http://[::1]/hook",
    "http://0x7f.1/hook",
  ])
    test(`at ${url}`, () => expect(parse([webhook(url)]).success).toBe(true));
  test("that wants denials alone", () =>
    expect(parse([webhook("https://example.com", { events: ["decision.denied"] })]).success).toBe(true));
});

describe("there is no webhook", () => {
  const rows: { name: string; webhooks: unknown }[] = [
    { name: "without TLS beyond this machine", webhooks: [webhook("http://example.com/hook")] },
    { name: "at a name that only looks like this machine", webhooks: [webhook("http://127.0.0.1.example.com/hook")] },
    { name: "at an address of the network without TLS", webhooks: [webhook("http://10.0.0.1/hook")] },
    { name: "at a file", webhooks: [webhook("file:///etc/passwd")] },
    { name: "at what is no URL", webhooks: [webhook("example.com/hook")] },
    { name: "with a user in its URL", webhooks: [webhook("https://user@example.com/hook")] },
    { name: "with a password in its URL", webhooks: [webhook("https://:word@example.com/hook")] },
    { name: "for events that do not exist", webhooks: [webhook("https://example.com", { events: ["turn.ended"] })] },
    { name: "for no events", webhooks: [webhook("https://example.com", { events: [] })] },
    { name: "with a setting of an unknown name", webhooks: [webhook("https://example.com", { secret: "x" })] },
    { name: "without the name of a variable", webhooks: [{ url: "https://example.com" }] },
    { name: "twice", webhooks: [webhook("https://example.com"), webhook("https://EXAMPLE.com:443/")] },
    {
      name: "beyond the sixteenth",
      webhooks: Array.from({ length: 17 }, (_, place) => webhook(`https://example.com/${place}`)),
    },
  ];
  for (const { name, webhooks } of rows) test(name, () => expect(parse(webhooks).success).toBe(false));
});

describe("links begin at no URL", () => {
  for (const consoleUrl of ["console", "ftp://a", "https://u:p@a", "https://a?b=c", "https://a#b"])
    test(`like ${consoleUrl}`, () => expect(parse([], { consoleUrl }).success).toBe(false));
});

describe("the configuration", () => {
  const marker = "MARKER-of-a-secret";
  const load = (notify: unknown) =>
    loadConfig({ env: { TURNPIKE_NOTIFY_WEBHOOKS: JSON.stringify(notify) }, flags: { database: "a.db" } });

  test("takes webhooks from the environment as JSON", () => {
    expect(load([webhook("https://example.com/")]).notify.webhooks).toMatchObject([{ url: "https://example.com/" }]);
  });

  test("is shown without path and query of a webhook's URL", () => {
    const shown = withoutSecrets(load([webhook(`https://example.com/hook/${marker}?token=${marker}`)]));
    expect(shown.notify.webhooks).toMatchObject([{ url: "https://example.com/***", secretEnv }]);
    expect(JSON.stringify(shown)).not.toContain(marker);
  });

  test("names the place of a mistake, and shows nothing that may be a secret", () => {
    for (const [notify, says] of [
      [[{ url: "https://example.com", secretEnv: marker }], "notify.webhooks.0.secretEnv: found a text"],
      [[webhook(`http://u:${marker}@example.com`)], "notify.webhooks.0.url: found a text"],
      [[webhook("https://a.example"), webhook(`http://b.example/?${marker}`)], "notify.webhooks.1.url: found a text"],
      [marker, "notify.webhooks.0: found a text"],
    ] as const) {
      const text = typeof notify === "string" ? notify : JSON.stringify(notify);
      const wrong = () => loadConfig({ env: { TURNPIKE_NOTIFY_WEBHOOKS: text }, flags: {} });
      expect(wrong).toThrow(says);
      expect(wrong).not.toThrow(marker);
    }
  });
});
