import { z } from "zod";
import { isLoopback } from "../shared/index.ts";

/** Schemes that a browser itself acts on: no program of a person's receives what is sent there. */
const browserSchemes = new Set(
  [
    "about",
    "blob",
    "data",
    "file",
    "filesystem",
    "ftp",
    "http",
    "javascript",
    "mailto",
    "vbscript",
    "view-source",
    "ws",
    "wss",
  ].map((scheme) => `${scheme}:`),
);

/**
 * Whether a client may be answered at an address: over https, on this machine, or by a program that has a scheme of its own. What is
 * in such an address is compared as text, so only one way to write it is taken.
 */
export function isRedirectUri(text: string): boolean {
  if (text.length > 1000 || !/^[\x21-\x7E]+$/.test(text) || /[#"'<>\\^`{|}]/.test(text) || !URL.canParse(text))
    return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  if (protocol === "https:") return hostname !== "" && text.startsWith("https://");
  if (protocol === "http:") return isLoopback(hostname) && text.startsWith("http://");
  return !browserSchemes.has(protocol);
}

export const RedirectUriSchema = z
  .string()
  .refine(
    isRedirectUri,
    "expected an https URL, an http URL of this machine, or a scheme of an app, without # and credentials",
  );

/** An address as it is compared: on this machine a program takes any port that is free (RFC 8252). */
export function withoutPort(redirectUri: string): string {
  const url = new URL(redirectUri);
  if (url.protocol !== "http:") return redirectUri;
  return redirectUri.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:?]*)):\d+/, "$1");
}

/** Whether a client that registered these addresses may be answered at this one: the very same, but for a port on this machine. */
export function isRegistered(redirectUris: readonly string[], asked: string): boolean {
  if (!isRedirectUri(asked)) return false;
  return redirectUris.some((one) => one === asked || withoutPort(one) === withoutPort(asked));
}

/** What a page's `form-action` has to allow so that its answer reaches the client: browsers hold redirects against it as well. */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin, hostname } = new URL(redirectUri);
  const isWeb = protocol === "https:" || protocol === "http:";
  // A policy cannot name an address of IPv6.
  return isWeb && !hostname.startsWith("[") ? origin : protocol;
}

/** Where a client is answered, as a person is told. */
export function placeOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri);
  if (protocol === "https:") return host;
  return protocol === "http:" && isLoopback(hostname)
    ? "a program on this computer"
    : `the app that opens ${protocol}//`;
}
