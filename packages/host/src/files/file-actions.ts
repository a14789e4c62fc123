import type { FileAction } from "./file-action.ts";
import { grepAction } from "./grep-action.ts";
import { readActions } from "./read-actions.ts";
import { searchAction } from "./search-action.ts";
import { snapshotActions } from "./snapshot-actions.ts";
import { writeActions } from "./write-actions.ts";

/** Everything that can be done with files. */
export const fileActions: readonly FileAction[] = [
  ...readActions,
  searchAction,
  grepAction,
  ...writeActions,
  ...snapshotActions,
];
