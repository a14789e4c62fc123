import { actKills } from "./act-kills.ts";
import { attacks } from "./attack-suite.ts";
import { pauses, partitions } from "./beneath/away-hosts.ts";
import { earlierVersions } from "./beneath/earlier-versions.ts";
import { failovers } from "./beneath/failovers.ts";
import { frozenLogs } from "./beneath/frozen-logs.ts";
import { poolers } from "./beneath/poolers.ts";
import { replacedFiles } from "./beneath/replaced-files.ts";
import { cedar } from "./cedar.ts";
import { cedarExport } from "./cedar-export.ts";
import { decisions } from "./decisions.ts";
import { fullDisk } from "./full-disk.ts";
import { kills } from "./kills.ts";
import { slow } from "./load/slow.ts";
import { soak } from "./load/soak.ts";
import { streams } from "./load/streams.ts";
import { outagesSuite } from "./outages.ts";
import { simulation } from "./simulation.ts";
import type { Suite } from "./suite.ts";

/** Everything that `npm run trust` runs, in this order. */
export const suites: readonly Suite[] = [
  decisions,
  cedar,
  cedarExport,
  simulation,
  attacks,
  kills,
  actKills,
  outagesSuite,
  fullDisk,
  pauses,
  partitions,
  failovers,
  earlierVersions,
  poolers,
  frozenLogs,
  replacedFiles,
  soak,
  streams,
  slow,
];
