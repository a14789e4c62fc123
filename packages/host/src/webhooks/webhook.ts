import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { ConfigError, sha256 } from "../shared/index.ts";
import { hrefOf, shownUrl, type NotifyEvent, type NotifySettings } from "./notify-settings.ts";

/** A receiver of messages about what happens on the host. */
export interface Webhook {
  /** The hash of the URL, under which the outbox stores its messages. */
  readonly key: string;
  readonly url: string;
  /** What the log may say of the URL. */
  readonly shown: string;
  readonly secret: KeyObject;
  readonly events: ReadonlySet<NotifyEvent>;
  /** True from when the receiver said that it is gone until the host starts again. */
  isGone: boolean;
}

/** Shorter ones could be guessed. */
const minSecretBytes = 24;

/** The webhooks of a configuration, with their secrets from the environment. Throws `ConfigError`, never with a secret. */
export function openWebhooks({ webhooks }: NotifySettings, env: NodeJS.ProcessEnv): Webhook[] {
  return webhooks.map(({ url: given, secretEnv, events }, place) => {
    const problem = (says: string): ConfigError =>
      new ConfigError(`notify.webhooks.${place}.secretEnv: the variable ${secretEnv} ${says}.`);
    const text = env[secretEnv];
    if (text === undefined || text === "") throw problem("is not set. Put the webhook's secret there");
    const bytes = secretBytes(text);
    if (bytes === undefined) throw problem("begins with whsec_, and what follows is no base64");
    if (bytes.length < minSecretBytes)
      throw problem(`holds a secret of less than ${minSecretBytes} bytes. Make a longer one`);
    const url = hrefOf({ url: given });
    const secret = createSecretKey(bytes);
    return { key: sha256(url), url, shown: shownUrl(url), secret, events: new Set(events), isGone: false };
  });
}

/** Standard Webhooks writes a secret as `whsec_` and base64; any other text is itself. Undefined when it is neither. */
function secretBytes(text: string): Buffer | undefined {
  if (!text.startsWith("whsec_")) return Buffer.from(text, "utf8");
  const encoded = text.slice("whsec_".length);
  // Decoding base64 never fails: it skips invalid characters, and the secret would differ from the receiver's.
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) ? Buffer.from(encoded, "base64") : undefined;
}

/** The signature of Standard Webhooks over what the receiver gets: the id, the seconds and the body. */
export function sign(secret: KeyObject, id: string, timestamp: number, body: string): string {
  return `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}
