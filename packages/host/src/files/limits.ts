/** The limits of one owner's files, and of one call. */
export interface FileLimits {
  /** Bytes of a file, in UTF-8. */
  readonly fileBytes: number;
  /** Files of an owner. */
  readonly files: number;
  /** Snapshots of one path. */
  readonly snapshots: number;
  /** Snapshots of an owner. */
  readonly ownerSnapshots: number;
  /** Bytes of stored content that a snapshot may have or a restore may write. */
  readonly restoredBytes: number;
  /** Characters that one grep scans before it returns a cursor. */
  readonly scannedCharacters: number;
  /** Milliseconds that one grep runs before it returns a cursor. */
  readonly scanMs: number;
}

export const defaultFileLimits: FileLimits = Object.freeze({
  fileBytes: 1_000_000,
  files: 10_000,
  snapshots: 100,
  ownerSnapshots: 10_000,
  restoredBytes: 16_000_000,
  scannedCharacters: 10_000_000,
  scanMs: 200,
});
