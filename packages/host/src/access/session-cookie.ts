import { ServiceHttpError } from "turnpike/http";
import type { RequestHeaders } from "./request-headers.ts";
import { secretHashOf } from "./secrets.ts";

/** Whose session it is: an operator's or a person's. Each has a cookie, so that one browser may have both. */
export type SessionKind = "console" | "me";

/**
 * The cookie of a session at this origin. Over https its prefix has browsers refuse one that was set elsewhere: by another host of
 * the same domain, or by an attacker on a connection without TLS.
 */
function cookieName(origin: string, kind: SessionKind): string {
  return `${hostPrefix(origin)}turnpike${kind === "me" ? "-me" : ""}`;
}

/** Has browsers refuse a cookie that was set elsewhere, over https. */
function hostPrefix(origin: string): string {
  return isSecure(origin) ? "__Host-" : "";
}

function isSecure(origin: string): boolean {
  return origin.startsWith("https:");
}

/** The header that gives a browser the value of its session, for so many seconds; with 0 it forgets the session. */
export function setCookie(origin: string, value: string, seconds: number, kind: SessionKind = "console"): string {
  const secure = isSecure(origin) ? "; Secure" : "";
  return `${cookieName(origin, kind)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** The value of the session's cookie; undefined without one. Throws 400 for two, because one of them is foreign. */
export function readCookie(headers: RequestHeaders, origin: string, kind: SessionKind = "console"): string | undefined {
  return cookieOf(headers, cookieName(origin, kind));
}

/** The value of a cookie of this name. Throws 400 for two. */
function cookieOf(headers: RequestHeaders, name: string): string | undefined {
  const start = `${name}=`;
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const [value, ...others] = pairs.filter((pair) => pair.startsWith(start));
  if (others.length > 0) throw new ServiceHttpError(400, "invalid_request", twice);
  return value?.slice(start.length);
}

/** How long a browser may take to sign in at a provider. */
const signInSeconds = 600;

/**
 * The header that gives a browser what its sign-in with a provider is bound to. It has to come back from another site, so it is not
 * strict: by itself it admits no one.
 */
export function setSignInCookie(origin: string, value: string): string {
  const secure = isSecure(origin) ? "; Secure" : "";
  return `${signInCookie(origin)}=${value}; Path=/; Max-Age=${signInSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** What a browser's sign-in with a provider is bound to; undefined without one. */
export function readSignInCookie(headers: RequestHeaders, origin: string): string | undefined {
  return cookieOf(headers, signInCookie(origin));
}

/**
 * The header that gives a browser what a person's answer to one client is bound to, for so many seconds. The browser comes to that page
 * from another site, so it is not strict; the answer needs what the page alone holds as well.
 */
export function setConsentCookie(origin: string, id: string, value: string, seconds: number): string {
  const secure = isSecure(origin) ? "; Secure" : "";
  return `${consentCookie(origin, id)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** What a person's answer to this client is bound to; undefined without one. */
export function readConsentCookie(headers: RequestHeaders, origin: string, id: string): string | undefined {
  return cookieOf(headers, consentCookie(origin, id));
}

function consentCookie(origin: string, id: string): string {
  return `${hostPrefix(origin)}turnpike-consent-${id}`;
}

function signInCookie(origin: string): string {
  return `${hostPrefix(origin)}turnpike-sign-in`;
}

/** What a code that ends a sign-in is bound to, by the value of that cookie. */
export function browserHashOf(value: string): string {
  return secretHashOf(`browser ${value}`);
}

const twice = "cookie: expected one session. Remove the cookies of this site from the browser, and sign in again.";
