import type { IncomingMessage } from "node:http";
import type { WireLimits } from "./front-settings.ts";
import { wireRefusal, type Refusal } from "./wire-errors.ts";

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A name or an address, with an optional port. HTTP also allows an empty Host. */
const hostShape =
  /^((\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]+)(:(\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?)?$/;

/**
 * Headers that the host relies on. Of two, one reader would take the first and another one the last, so both are refused.
 * Each has a bit of its own.
 */
const singleHeaders = new Map(
  [
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
    "prefer",
    "traceparent",
    "transfer-encoding",
    "x-authority",
    "x-purpose",
    "x-request-id",
    "x-trace-id",
  ].map((name, place) => [name, 1 << place]),
);

const unknownMethod = wireRefusal(405, "This method is not known here.", { allow: [...knownMethods].join(", ") });

/** Refuses requests that proxies and servers are known to read differently; undefined for a plain request. */
export function checkHead(
  { method = "", url = "", rawHeaders, headers }: IncomingMessage,
  limits: Pick<WireLimits, "headers">,
): Refusal | undefined {
  if (rawHeaders.length > 2 * limits.headers)
    return wireRefusal(431, `A request has at most ${limits.headers} headers.`);
  if (!knownMethods.has(method)) return unknownMethod;
  if (!/^\/[^#\\\s]*$/.test(url) || url.startsWith("//")) return invalid("The target has to be a plain path.");
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(url)) return invalid("A path has no . or .. in it.");
  const repeated = findRepeated(rawHeaders);
  if (repeated !== undefined) return invalid(`${repeated}: expected this header once.`);
  if (headers.host === undefined || !isHost(headers.host))
    return invalid("A request has exactly one Host header that names a host.");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return invalid("Bodies come in one piece or chunked.");
  return undefined;
}

/** The first header that came twice and may come once only. */
function findRepeated(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const name = (rawHeaders[place] ?? "").toLowerCase();
    const bit = singleHeaders.get(name);
    if (bit === undefined) continue;
    if ((seen & bit) !== 0) return name;
    seen |= bit;
  }
  return undefined;
}

/** Nearly all requests have the same host, and reading one as a URL does costs as much as the rest of the head. */
let lastHost = "";

/** Whether a Host makes a URL, before any path. */
function isHost(host: string): boolean {
  if (host === lastHost) return true;
  if (!hostShape.test(host) || (host !== "" && !URL.canParse(`http://${host}/`))) return false;
  lastHost = host;
  return true;
}

function invalid(message: string): Refusal {
  return wireRefusal(400, message);
}
