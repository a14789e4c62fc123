import { tmpdir } from "node:os";

/** Below which folder tests write: one that is in memory where there is one, which `scripts/test-folder.js` finds. */
export const testRoot: string = process.env["TEST_FOLDER"] || tmpdir();
