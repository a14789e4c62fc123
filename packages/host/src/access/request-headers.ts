import type { ClientCertificate } from "./client-certificate.ts";

/** The headers of a request, by their names in lower case. */
export interface RequestHeaders {
  get(name: string): string | null;
  /** The certificate of the connection that they came over; undefined without one. No header can say so. */
  readonly certificate?: ClientCertificate | undefined;
}

/** The bearer token of a request; empty without one. */
export function bearerOf(headers: RequestHeaders): string {
  const [, token = ""] = /^bearer +([^ ]+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  return token;
}
