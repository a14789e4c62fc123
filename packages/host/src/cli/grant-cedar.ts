import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Grant } from "turnpike/contracts";
import { nameText } from "../display/index.ts";
import { ConfigError } from "../shared/index.ts";
import type { OperatorFlags, Show } from "./connection.ts";
import { writeOut } from "./grant-file.ts";
import { jsonText, oneLine } from "./table.ts";

/** The folder that policies of Cedar are written into. */
export function cedarFolder(out: string | undefined): string {
  if (out === undefined) throw new ConfigError("--cedar: expected a folder for the policies in --out.");
  return out;
}

/** Writes grants as policies of Cedar, and says what these leave out. */
export async function exportCedar(
  flags: OperatorFlags & { tenant: string },
  folder: string,
  grants: readonly Grant[],
  show: Show,
): Promise<void> {
  const { cedarOf } = await import("../cedar/index.ts");
  const { policies, count, schema, entities, leftOut } = cedarOf(grants);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new ConfigError(`--out ${folder}: expected a folder that can be written.`, { cause });
  }
  writeOut(join(folder, "policies.cedar"), policies);
  writeOut(join(folder, "schema.cedarschema"), schema);
  writeOut(join(folder, "entities.json"), `${jsonText(entities)}\n`);
  const { tenant } = flags;
  const written = `Wrote ${count} ${count === 1 ? "policy" : "policies"} for the grants of ${oneLine(tenant)} to ${folder}.`;
  const lines = leftOut.map(({ grantId, condition }) => `  ${oneLine(`${nameText(grantId)}: ${condition}`)}`);
  const lacking = leftOut.length === 0 ? [] : ["Left out, and so denied there:", ...lines];
  show(flags, { folder, tenant, policies: count, leftOut }, [written, ...lacking].join("\n"));
}
