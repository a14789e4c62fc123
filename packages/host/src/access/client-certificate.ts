import type { X509Certificate } from "node:crypto";
import type { CredentialAccess } from "../admin-contract/index.ts";

/** The certificate that the other side of a connection has proved to hold, issued by an authority that this host trusts. */
export interface ClientCertificate {
  /** What it can be called: its fingerprint, its URIs and its DNS names, as a credential names its certificate. */
  readonly names: readonly string[];
  /** In milliseconds. A connection can outlive the certificate it was opened with. */
  readonly validUntil: number;
}

export function describeCertificate(certificate: X509Certificate): ClientCertificate {
  const fingerprint = `sha256:${certificate.fingerprint256.replaceAll(":", "").toLowerCase()}`;
  const names = [fingerprint, ...alternativeNames(certificate.subjectAltName ?? "")];
  return { names, validUntil: Date.parse(certificate.validTo) };
}

/**
 * The names in the text that Node makes of them, such as `DNS:a, URI:spiffe://b/c`. A name that could be read as several is
 * quoted there; no honest certificate needs such a name, so one that has it is known by its fingerprint alone.
 */
function alternativeNames(text: string): string[] {
  if (text.includes('"')) return [];
  return text.split(", ").flatMap((entry) => {
    if (entry.startsWith("URI:")) return [`uri:${entry.slice(4)}`];
    return entry.startsWith("DNS:") ? [`dns:${entry.slice(4).toLowerCase()}`] : [];
  });
}

/** Whether a credential may be used over a connection: one that names a certificate only over one that shows it. */
export function isUsableOver(
  { certificate: name }: Pick<CredentialAccess, "certificate">,
  shown: ClientCertificate | undefined,
  now: Date,
): boolean {
  return name === undefined || (isCurrent(shown, now) && shown.names.includes(name));
}

export function isCurrent(shown: ClientCertificate | undefined, now: Date): shown is ClientCertificate {
  return shown !== undefined && now.getTime() < shown.validUntil;
}
