import type { IncomingMessage } from "node:http";

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A name or an address, and maybe a port; HTTP allows an empty one. */
const hostShape =
  /^((\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]+)(:(\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?)?$/;

/** Why a request is refused before anything looks at it. */
export interface Refusal {
  status: number;
  code: string;
  message: string;
}

/** Refuses what proxies and servers are known to read differently; undefined for a plain request. */
export function checkTarget({ method = "", url = "", rawHeaders, headers }: IncomingMessage): Refusal | undefined {
  if (!knownMethods.has(method)) return refuse(405, "method_not_allowed", "This method is not known here.");
  if (!/^\/[^#\\\s]*$/.test(url) || url.startsWith("//"))
    return refuse(400, "invalid_request", "The target has to be a plain path.");
  if (/\/(\.|%2e){1,2}(\/|\?|$)/i.test(url)) return refuse(400, "invalid_request", "A path has no . or .. in it.");
  if (countHeader(rawHeaders, "host") !== 1 || !hostShape.test(headers.host ?? "")) {
    return refuse(400, "invalid_request", "A request has exactly one Host header that names a host.");
  }
  if (countHeader(rawHeaders, "content-length") > 1 || countHeader(rawHeaders, "transfer-encoding") > 1) {
    return refuse(400, "invalid_request", "The length of the body is given more than once.");
  }
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    return refuse(400, "invalid_request", "Bodies come in one piece or chunked.");
  }
  return undefined;
}

function refuse(status: number, code: string, message: string): Refusal {
  return { status, code, message };
}

function countHeader(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((header, place) => place % 2 === 0 && header.toLowerCase() === name).length;
}
