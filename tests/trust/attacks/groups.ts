import { acts } from "./acts.ts";
import { approvals } from "./approvals.ts";
import type { Group } from "./attack.ts";
import { audit } from "./audit.ts";
import { authentication } from "./authentication.ts";
import { certificates } from "./certificates.ts";
import { actingClients } from "./clients.ts";
import { commandLine } from "./command-line.ts";
import { connections } from "./connections.ts";
import { consolePage } from "./console.ts";
import { constraints } from "./constraints.ts";
import { delegation } from "./delegation.ts";
import { deputies } from "./deputies.ts";
import { files } from "./files.ts";
import { httpAttacks } from "./http.ts";
import { limits } from "./limits.ts";
import { mcpAttacks } from "./mcp.ts";
import { messages } from "./messages.ts";
import { operators } from "./operators.ts";
import { rates } from "./rates.ts";
import { replay } from "./replay.ts";
import { sessions } from "./sessions.ts";
import { signingIn } from "./sign-in.ts";
import { slowSenders } from "./slow-senders.ts";
import { tenantOperators } from "./tenant-operators.ts";
import { tenants } from "./tenants.ts";
import { turns } from "./turns.ts";
import { webhooks } from "./webhooks.ts";

/** Every attack, by its kind. */
export const groups: readonly Group[] = [
  authentication,
  certificates,
  tenants,
  tenantOperators,
  deputies,
  delegation,
  constraints,
  replay,
  acts,
  approvals,
  turns,
  mcpAttacks,
  operators,
  sessions,
  signingIn,
  actingClients,
  consolePage,
  httpAttacks,
  files,
  messages,
  rates,
  limits,
  slowSenders,
  connections,
  audit,
  webhooks,
  commandLine,
];
