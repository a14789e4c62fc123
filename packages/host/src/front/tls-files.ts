import type { Server } from "node:https";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { SecureContextOptions } from "node:tls";
import type { FrontSettings } from "./front-settings.ts";

type TlsSettings = NonNullable<FrontSettings["tls"]>;

/** How often the files are read: a renewed certificate replaces its files, and nothing is restarted. */
const pollMs = 10_000;

/** Callbacks about the certificate files of a running server. */
export interface TlsReport {
  /** New files are in force for new connections. */
  onReload(): void;
  /** New files cannot be used; those before stay in force. */
  onError(error: unknown): void;
}

/** The options of a server that speaks TLS. Throws when the files cannot be read or do not belong together. */
export function openTls(
  settings: TlsSettings,
): SecureContextOptions & { requestCert: boolean; rejectUnauthorized: boolean } {
  const isAsked = settings.clientCaFile !== undefined;
  const isRequired = isAsked && settings.clientCertificates === "required";
  return {
    ...contextOf(namesOf(settings).map((name) => readFileSync(name))),
    requestCert: isAsked,
    rejectUnauthorized: isRequired,
  };
}

/**
 * Reads the files from time to time, and gives the server what is new in them. Returns how to stop. `onOtherAuthorities` is
 * called when other authorities are trusted from now on.
 */
export function followTls(
  server: Pick<Server, "setSecureContext">,
  settings: TlsSettings,
  { onReload, onError }: TlsReport,
  onOtherAuthorities: () => void,
): () => void {
  const names = namesOf(settings);
  let known = names.map((name) => readFileSync(name));
  let failed = "";
  let isReading = false;
  const readFiles = async (): Promise<void> => {
    const found = await Promise.all(names.map((name) => readFile(name)));
    if (isSame(found, known)) return void (failed = "");
    // Throws for a pair that does not belong together, which may be half written.
    server.setSecureContext(contextOf(found));
    const areOthersTrusted = !isSame(found.slice(2), known.slice(2));
    known = found;
    failed = "";
    if (areOthersTrusted) onOtherAuthorities();
    onReload();
  };
  const timer = setInterval(() => {
    if (isReading) return;
    isReading = true;
    readFiles()
      .catch((error: unknown) => {
        // The same mistake is told once.
        if (failed !== String(error)) onError(error);
        failed = String(error);
      })
      .finally(() => (isReading = false));
  }, pollMs);
  timer.unref();
  return () => clearInterval(timer);
}

function namesOf({ certFile, keyFile, clientCaFile }: TlsSettings): string[] {
  return [certFile, keyFile, ...(clientCaFile === undefined ? [] : [clientCaFile])];
}

function contextOf([cert, key, ca]: readonly Buffer[]): SecureContextOptions {
  return { cert: cert ?? "", key: key ?? "", ...(ca && { ca }) };
}

function isSame(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return one.length === other.length && one.every((bytes, place) => other[place]?.equals(bytes));
}
