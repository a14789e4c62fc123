import type { Command } from "commander";
import { ConfigError } from "../shared/index.ts";
import { everText, principalText, resourceText } from "../display/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { readPrincipal, readResource } from "./flags.ts";
import { oneLine } from "./table.ts";

interface EverFlags extends OperatorFlags {
  ever?: boolean;
  tenant?: string;
  actor?: string;
  resource?: string;
  action?: string;
}

/** `reach --ever`, beside the commands of `reach`. */
export function addEverReach(reach: Command, show: Show): void {
  asOperator(
    reach,
    "Show who can do what, and by which grants: now, or ever.",
    "turnpike reach --ever --tenant acme --actor agent:assistant",
  )
    .option("--ever", "everything that one could ever do, or all who could ever reach a resource")
    .option("--tenant <id>", "the tenant")
    .option("--actor <kind:id>", "who acts")
    .option("--resource <namespace/path>", "where, such as files/notes/todo.md; instead of --actor")
    .option("--action <action>", "what is done; anything unless given")
    .action(async (flags: EverFlags) => {
      const { ever, tenant: namespaceId, actor, resource, action } = flags;
      if (ever !== true) throw new ConfigError("reach: expected --ever, or one of its commands: show, who.");
      if (namespaceId === undefined) throw new ConfigError("reach --ever: expected --tenant.");
      if ((actor === undefined) === (resource === undefined))
        throw new ConfigError("reach --ever: expected --actor or --resource, and not both.");
      const who = actor === undefined ? undefined : readPrincipal("--actor", actor);
      const place = resource === undefined ? undefined : readResource(resource);
      const answer = await requestAdmin(flags, "readEverReach", { namespaceId, actor: who, resource: place, action });
      const lines = answer.reach.map((region) => oneLine(everText(region, { at: answer.at })));
      if (answer.more === true) lines.push("There is more than this.");
      const nothing =
        who === undefined
          ? `No principal could ever reach ${place === undefined ? "it" : resourceText(place)}.`
          : `${principalText(who)} could never do anything.`;
      show(flags, answer, lines.length === 0 ? oneLine(nothing) : lines.join("\n"));
    });
}
