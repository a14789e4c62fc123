import { codeLink, freshSecret, isSameText, secretHashOf } from "../access/index.ts";
import type { PersonKind, ProvedClaims } from "./identify.ts";
import { SignInRefusedError, type SignInSecrets } from "./provider.ts";

/** How long a sign-in may take at the provider. */
const signInMs = 10 * 60_000;

/** A sign-in that has begun, as the browser's cookie holds it. Nothing of it is stored here until the provider answers. */
export interface BegunSignIn {
  provider: string;
  /** Where it leads. */
  to: string;
  /** Random, and known to this one browser. */
  secret: string;
  expiresAt: number;
}

/** Begins a sign-in with a provider. */
export function beginSignIn(provider: string, to: string, now: Date): BegunSignIn {
  return { provider, to, secret: freshSecret(), expiresAt: now.getTime() + signInMs };
}

/** What the cookie holds. */
export function writeBegun({ provider, to, secret, expiresAt }: BegunSignIn): string {
  return `${secret}.${expiresAt}.${encoded(provider)}.${encoded(to)}`;
}

/** What a cookie says of a sign-in; undefined for one that says nothing, or began too long ago. */
export function readBegun(cookie: string | undefined, now: Date): BegunSignIn | undefined {
  const [, secret = "", expires = "", provider = "", to = ""] =
    /^([0-9a-f]{64})\.(\d{1,15})\.([\w-]*)\.([\w-]*)$/.exec(cookie ?? "") ?? [];
  const expiresAt = Number(expires);
  if (secret === "" || expiresAt <= now.getTime() || expiresAt > now.getTime() + 2 * signInMs) return undefined;
  return { secret, expiresAt, provider: decoded(provider), to: decoded(to) };
}

/**
 * What the provider is asked with. INVARIANT: all of it follows from what this browser holds, so an answer that was meant for another
 * browser, another provider or another destination fits no sign-in here.
 */
export function secretsOf(begun: BegunSignIn): SignInSecrets {
  const of = (use: string): string => secretHashOf(`${use} ${writeBegun(begun)}`);
  return { state: of("state"), nonce: of("nonce"), verifier: of("verifier") };
}

/** Whether an answer has the state of this sign-in. */
export function isAnswerTo(begun: BegunSignIn, state: string): boolean {
  return isSameText(secretsOf(begun).state, state);
}

/**
 * When the provider's session ends, if the ID token says so: `session_expiry`, in seconds since 1970. Throws a `SignInRefusedError` when
 * it has ended, and when what is said is no time, because the session here would outlive it.
 */
export function providerSessionEnd({ session_expiry: said }: ProvedClaims, now: Date): Date | undefined {
  if (said === undefined) return undefined;
  const endsAt = new Date(typeof said === "number" ? said * 1000 : Number.NaN);
  // Also for a time that no date can be.
  if (!(endsAt > now)) throw new SignInRefusedError("The provider's session is over.");
  return endsAt;
}

/**
 * Where a sign-in may lead, and as whom: the console, or a person's own pages. Undefined for every other address: one of another
 * site, also one that browsers read so, and one that is none of these pages.
 */
export function destinationOf(to: string): { kind: PersonKind; to: string } | undefined {
  if (!/^\/[\w\-./~%]*(?:\?[\w\-./~%&=+:@,]*)?$/.test(to) || to.startsWith("//")) return undefined;
  const url = new URL(to, base);
  // What a browser makes of it is what it has to say: no dots that lead elsewhere.
  if (url.origin !== base || `${url.pathname}${url.search}` !== to) return undefined;
  const first = url.pathname.split("/")[1] ?? "";
  const kind = destinations.get(first);
  return kind && { kind, to };
}

/**
 * Where the browser goes behind a sign-in, with the code that admits it. A page that works without scripts reads its code from the
 * query; it is of use in this one browser, and once.
 */
export function addressBehind(address: string, code: string): string {
  const { pathname, search } = new URL(address);
  return pathname === "/consent" && search !== "" ? `${address}&signed_in=${code}` : codeLink(address, code);
}

const base = "http://host.invalid";

const destinations: ReadonlyMap<string, PersonKind> = new Map([
  ["console", "operator"],
  ["me", "person"],
  ["consent", "person"],
]);

function encoded(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function decoded(text: string): string {
  return Buffer.from(text, "base64url").toString();
}
