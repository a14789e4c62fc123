import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../shared/index.ts";
import { NotifySettingsSchema } from "./notify-settings.ts";
import { openWebhooks, sign } from "./webhook.ts";

const open = (secret: string | undefined, url = "https://example.com/hook") => {
  const settings = NotifySettingsSchema.parse({ webhooks: [{ url, secretEnv: "HOOK_SECRET" }] });
  const [webhook] = openWebhooks(settings, { ...(secret !== undefined && { HOOK_SECRET: secret }) });
  if (webhook === undefined) throw new Error("There is no webhook.");
  return webhook;
};
const bytes = Buffer.from("0123456789abcdef01234567");
const encoded = `whsec_${bytes.toString("base64")}`;

test("a secret is the bytes behind whsec_, or any other text itself", () => {
  const expected = `v1,${createHmac("sha256", bytes).update("msg_1.1767225600.{}").digest("base64")}`;
  for (const text of [encoded, bytes.toString()])
    expect(sign(open(text).secret, "msg_1", 1_767_225_600, "{}")).toBe(expected);
});

test("the signature is the one that the text of Standard Webhooks gives as its example", () => {
  const { secret } = open("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const body = '{"test": 2432232314}';
  expect(sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)).toBe(
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  );
});

describe("a secret is refused, by the key and the variable and never by its value,", () => {
  for (const { name, secret } of [
    { name: "that is missing", secret: undefined },
    { name: "that is empty", secret: "" },
    { name: "of 23 bytes", secret: "0123456789abcdef0123456" },
    { name: "of 23 bytes in base64", secret: `whsec_${bytes.subarray(1).toString("base64")}` },
    { name: "that is no base64", secret: "whsec_not base64, but long enough to be a secret" },
  ])
    test(name, () => {
      const refused = () => open(secret);
      expect(refused).toThrow(ConfigError);
      expect(refused).toThrow(/^notify\.webhooks\.0\.secretEnv: the variable HOOK_SECRET /);
      expect(refused).not.toThrow(secret || "undefined");
    });
});

test("a secret of as many bytes in other characters is long enough", () => {
  expect(open("ä".repeat(12)).secret.symmetricKeySize).toBe(24);
});

test("a webhook that is printed shows neither its secret nor its query", () => {
  const webhook = open("a secret that is never shown", "https://example.com/hook?token=MARKER");
  expect(webhook.shown).toBe("https://example.com/***");
  expect(JSON.stringify({ ...webhook, url: "" })).not.toMatch(/never shown|MARKER/);
});

test("a webhook has the same key however its URL is written, and another secret does not change it", () => {
  const { key } = open(encoded);
  expect(open(bytes.toString(), "https://EXAMPLE.com:443/hook").key).toBe(key);
  expect(open(encoded, "https://example.com/hook2").key).not.toBe(key);
});
