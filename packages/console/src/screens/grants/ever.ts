import type { AdminInput, AdminOutput } from "turnpike-host/admin-contract";
import { principalOf, resourceOf } from "../../shared/words.ts";

/** What is typed: a principal or a resource, and an action. */
export interface EverTyped {
  actor: string;
  resource: string;
  action: string;
}

type EverQuestion = Pick<AdminInput<"readEverReach">, "actor" | "resource" | "action">;
type EverRegion = AdminOutput<"readEverReach">["reach"][number];

/** The question that was typed, or what is wrong with it; undefined when nothing was typed. */
export function everQuestion(typed: EverTyped): { question: EverQuestion } | { problem: string } | undefined {
  const [actor, resource, action] = [typed.actor.trim(), typed.resource.trim(), typed.action.trim()];
  const done = action === "" ? {} : { action };
  if (actor === "" && resource === "") return undefined;
  if (actor !== "" && resource !== "") return { problem: "Name a principal or a resource, and not both." };
  if (actor !== "") {
    const who = principalOf(actor);
    return who === undefined
      ? { problem: "Write kind:id, such as agent:assistant." }
      : { question: { actor: who, ...done } };
  }
  const { namespace, path } = resourceOf(resource);
  return namespace === ""
    ? { problem: "Write a namespace and a path, such as files/notes." }
    : { question: { resource: { namespace, path }, ...done } };
}

/** Regions that are reached in one way. */
export interface EverGroup {
  title: string;
  regions: readonly EverRegion[];
}

/** What could ever happen, beginning with what needs least for it. */
export function everGroups(reach: readonly EverRegion[]): EverGroup[] {
  const titles = {
    held: "As the grants are",
    derived: "When a holder hands it on",
    approval: "Once a person approves",
  };
  return Object.entries(titles).flatMap(([name, title]) => {
    const regions = reach.filter(({ how }) => how === name);
    return regions.length === 0 ? [] : [{ title, regions }];
  });
}
