import { ServiceHttpError } from "turnpike/http";
import type { RequestHeaders } from "../access/index.ts";

/** The origin under which the sender of a request reaches this host, such as `https://gate.example`. */
export type OriginOf = (headers: RequestHeaders) => string;

/**
 * The configured public URL, or what the request itself was sent to. Headers of proxies are not believed: any client can send
 * them. Throws 400 for a `host` that is none.
 */
export function createOriginOf({
  publicUrl,
  tls,
}: {
  publicUrl?: string | undefined;
  tls?: object | undefined;
}): OriginOf {
  if (publicUrl !== undefined) return () => new URL(publicUrl).origin;
  const scheme = tls === undefined ? "http" : "https";
  return (headers) => {
    const host = headers.get("host") ?? "";
    if (/^(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?$/.test(host) && URL.canParse(`${scheme}://${host}`))
      return new URL(`${scheme}://${host}`).origin;
    throw new ServiceHttpError(400, "invalid_request", "host: expected the name of this host, and its port.");
  };
}
