import type { PlantedBug } from "../../support/effect-host.ts";
import type { Suite } from "../suite.ts";
import { partitions, pauses } from "./away-hosts.ts";
import { earlierVersions } from "./earlier-versions.ts";
import { failovers } from "./failovers.ts";
import { frozenLogs } from "./frozen-logs.ts";
import { poolers } from "./poolers.ts";
import { replacedFiles } from "./replaced-files.ts";

/** A bug that one suite has to find. */
interface BugOfSuite extends PlantedBug {
  name: string;
  suite: Suite;
  finds: RegExp;
}

/** What hosts do about what is beneath them, left out. */
export const plantedBugs: readonly BugOfSuite[] = [
  {
    name: "what others said of a stopped host does not bind it",
    suite: pauses,
    file: "ledger/replay-store.js",
    from: 'claim: "" })',
    to: "claim: first.claim })",
    finds: /was answered 200 by its host when others had said that it is interrupted/,
  },
  {
    name: "a host does not look whether its result was stored",
    suite: partitions,
    file: "ledger/replay-store.js",
    from: "mine.isFenced = written.kind",
    to: "mine.isFenced = false && written.kind",
    finds: /was answered 200 by its host when others had said that it is interrupted/,
  },
  {
    name: "what is lost does not count",
    suite: failovers,
    file: "storage/history/history.js",
    from: "return isTold || unstored !== undefined;",
    to: "return false;",
    finds: /was lost, and is succeeded when it is sent again/,
  },
  {
    name: "a newer version does not wait for older ones",
    suite: earlierVersions,
    file: "storage/migrate.js",
    from: "if (older.length > 0) {",
    to: "if (older.length < 0) {",
    finds: /changed the database under a call of the version before/,
  },
  {
    name: "a log that is not read is an error",
    suite: frozenLogs,
    file: "telemetry/line-writer.js",
    from: "return later();",
    to: "throw error;",
    finds: /when the log was not read/,
  },
  {
    name: "what is under the name of the file is not looked at",
    suite: replacedFiles,
    file: "storage/sqlite/watch-file.js",
    from: "look();",
    to: "",
    finds: /a host whose file was [a-z ]+ says that it is ready/,
  },
  {
    name: "a pooler is not noticed",
    suite: poolers,
    file: "storage/pooler.js",
    from: "if (!isLent)",
    to: "if (isLent !== undefined)",
    finds: /a host that was not told of its pooler started/,
  },
];
