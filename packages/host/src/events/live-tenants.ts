import { openReader, type LiveReader, type ReaderOptions } from "./live-reader.ts";
import { watchTenant, type TenantWatch, type WatchOptions } from "./tenant-watch.ts";
import type { AuditCursor } from "./audit-cursor.ts";

/** Who wants to follow a tenant, and from where. */
export interface ReaderRequest extends Pick<ReaderOptions, "isStillAdmitted"> {
  namespaceId: string;
  credentialId: string;
  /** Whether rows of the audit log and turns are sent, or only how many escalations wait. */
  isAuditTold: boolean;
  /** From where on; from the newest rows unless given. */
  from?: AuditCursor | undefined;
}

/** All readers that follow a tenant through this host. */
export interface LiveTenants {
  /**
   * Begins to follow. `full`: the credential has as many streams open as it may. `ahead`: there are no rows as far as the
   * cursor says. Throws when the audit log cannot be read.
   */
  open(request: ReaderRequest): Promise<LiveReader | "full" | "ahead">;
  /** Ends every stream at once, and those that come. Resolves when nothing is read any more. */
  close(): Promise<void>;
}

export interface LiveOptions extends Pick<WatchOptions, "stores" | "withdrawnTools" | "clock"> {
  /** How many streams one credential may have open. */
  maxStreams: number;
  pollMs?: number;
  onFailure(error: unknown, namespaceId: string): void;
}

interface Watched {
  watch: TenantWatch;
  readers: Set<LiveReader>;
}

/** One watch for each tenant that a reader follows, and none for the others. */
export function createLiveTenants(options: LiveOptions): LiveTenants {
  const { stores, withdrawnTools, clock, maxStreams, pollMs = 500, onFailure } = options;
  const tenants = new Map<string, Watched>();
  const streams = new Map<string, number>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;

  const watchOf = (namespaceId: string): Watched => {
    const known = tenants.get(namespaceId);
    if (known !== undefined) return known;
    const report = (error: unknown): void => onFailure(error, namespaceId);
    const watch = watchTenant({ stores, withdrawnTools, namespaceId, pollMs, clock, onFailure: report });
    const watched = { watch, readers: new Set<LiveReader>() };
    tenants.set(namespaceId, watched);
    return watched;
  };
  const release = (namespaceId: string, { watch, readers }: Watched): void => {
    if (readers.size > 0) return;
    tenants.delete(namespaceId);
    const closed = watch.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const count = (credentialId: string, by: 1 | -1): void => {
    const open = (streams.get(credentialId) ?? 0) + by;
    if (open === 0) streams.delete(credentialId);
    else streams.set(credentialId, open);
  };

  return {
    async open({ namespaceId, credentialId, isAuditTold, from, isStillAdmitted }) {
      if ((streams.get(credentialId) ?? 0) >= maxStreams) return "full";
      // Counted before anything is waited for: of many that come at once, no more are let in.
      count(credentialId, 1);
      const start = await startOf(stores, namespaceId, from).catch((error: unknown) => {
        count(credentialId, -1);
        throw error;
      });
      if (start === undefined && isAuditTold) {
        count(credentialId, -1);
        return "ahead";
      }
      const watched = watchOf(namespaceId);
      const reader = openReader(watched.watch, {
        from: isAuditTold ? start : undefined,
        isStillAdmitted,
        onClose() {
          count(credentialId, -1);
          watched.readers.delete(reader);
          release(namespaceId, watched);
        },
      });
      watched.readers.add(reader);
      if (isClosed) reader.close();
      return reader;
    },
    async close() {
      isClosed = true;
      for (const { readers } of tenants.values()) for (const reader of readers) reader.close();
      await Promise.all(closing);
    },
  };
}

/** Where a reader begins: at the cursor, or behind the newest rows; undefined for a cursor behind rows that never were. */
async function startOf(
  { audit }: LiveOptions["stores"],
  namespaceId: string,
  from: AuditCursor | undefined,
): Promise<AuditCursor | undefined> {
  const heads = new Map((await audit.headsOf(namespaceId)).map(({ strand, sequence }) => [strand, sequence]));
  if (from === undefined) return heads;
  return [...from].every(([strand, sequence]) => sequence <= (heads.get(strand) ?? 0)) ? from : undefined;
}
