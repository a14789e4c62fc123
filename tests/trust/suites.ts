import { attacks } from "./attack-suite.ts";
import { cedar } from "./cedar.ts";
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
  simulation,
  attacks,
  kills,
  outagesSuite,
  fullDisk,
  soak,
  streams,
  slow,
];
