import { tmpdir } from "node:os";

/**
 * Below which folder tests write. `TEST_FOLDER` names one that is kept in memory: each commit of SQLite waits for the disk, and
 * with it for whatever else is written there.
 */
export const testRoot: string = process.env["TEST_FOLDER"] || tmpdir();
