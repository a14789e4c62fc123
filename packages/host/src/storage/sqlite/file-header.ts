/** How many bytes at the beginning of a file of SQLite describe it. */
export const headerBytes = 100;

/** How long the file has to be; 0 when the header does not say so. */
export function bytesIn(header: Buffer): number {
  const pageSize = header.readUInt16BE(16);
  const isCounted = header.readUInt32BE(24) === header.readUInt32BE(92);
  return isCounted ? header.readUInt32BE(28) * (pageSize === 1 ? 65_536 : pageSize) : 0;
}
