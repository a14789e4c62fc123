/** How much the files of one owner may be, and how much one call may look at. */
export interface FileLimits {
  /** Bytes of a file, in UTF-8. */
  readonly fileBytes: number;
  /** Files of an owner. */
  readonly files: number;
  /** Snapshots of an owner. */
  readonly snapshots: number;
  /** Characters that one grep looks through before it hands out a cursor. */
  readonly scannedCharacters: number;
}

export const defaultFileLimits: FileLimits = Object.freeze({
  fileBytes: 1_000_000,
  files: 10_000,
  snapshots: 100,
  scannedCharacters: 10_000_000,
});
