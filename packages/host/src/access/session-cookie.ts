import { ServiceHttpError } from "turnpike/http";
import type { RequestHeaders } from "./request-headers.ts";

/**
 * The cookie of a session at this origin. Over https its prefix has browsers refuse one that was set elsewhere: by another host of
 * the same domain, or by an attacker on a connection without TLS.
 */
function cookieName(origin: string): string {
  return isSecure(origin) ? "__Host-turnpike" : "turnpike";
}

function isSecure(origin: string): boolean {
  return origin.startsWith("https:");
}

/** The header that gives a browser the value of its session, for so many seconds; with 0 it forgets the session. */
export function setCookie(origin: string, value: string, seconds: number): string {
  const secure = isSecure(origin) ? "; Secure" : "";
  return `${cookieName(origin)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** The value of the session's cookie; undefined without one. Throws 400 for two, of which one is foreign. */
export function readCookie(headers: RequestHeaders, origin: string): string | undefined {
  const start = `${cookieName(origin)}=`;
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  const [value, ...others] = pairs.filter((pair) => pair.startsWith(start));
  if (others.length > 0) throw new ServiceHttpError(400, "invalid_request", twice);
  return value?.slice(start.length);
}

const twice = "cookie: expected one session. Remove the cookies of this site from the browser, and sign in again.";
