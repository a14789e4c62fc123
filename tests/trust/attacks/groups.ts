import { approvals } from "./approvals.ts";
import type { Group } from "./attack.ts";
import { authentication } from "./authentication.ts";
import { constraints } from "./constraints.ts";
import { delegation } from "./delegation.ts";
import { mcpAttacks } from "./mcp.ts";
import { consolePage } from "./console.ts";
import { operators } from "./operators.ts";
import { turns } from "./turns.ts";
import { deputies } from "./deputies.ts";
import { replay } from "./replay.ts";
import { tenants } from "./tenants.ts";

/** Every attack, by its kind. */
export const groups: readonly Group[] = [
  authentication,
  tenants,
  deputies,
  delegation,
  constraints,
  replay,
  approvals,
  turns,
  mcpAttacks,
  operators,
  consolePage,
];
