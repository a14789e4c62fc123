import {
  ArgumentRuleSchema,
  canonicalJson,
  describeIssues,
  placesBy,
  type ArgumentRule,
  type AuthorizationRequest,
  type JsonObject,
} from "turnpike/contracts";

/** What a call needs, such as `send mail/$to`: an action, a resource namespace and steps, in the language of argument rules. */
export type Needs = string | readonly string[];

/** What a call with these arguments needs. Throws an `ArgumentRuleError` when the arguments do not say. */
export type NeedsOfCall = (args: JsonObject) => AuthorizationRequest[];

interface Need {
  action: string;
  namespace: string;
  rule: ArgumentRule | undefined;
}

/** Reads what the calls of a tool need; every call of it, unless it is said more exactly. */
export function readNeeds(tool: string, needs: Needs | undefined): NeedsOfCall {
  if (needs === undefined) {
    const [path = []] = placesBy({ path: ["$tool"] })({ tool });
    return () => [{ action: "call", resource: { namespace: "agent.tools", path: [...path] } }];
  }
  const read = [needs].flat().map((text) => readNeed(tool, text));
  if (read.length === 0) throw new TypeError(`The needs of ${tool}: expected at least one.`);
  const places = read.map((need) => ({ ...need, of: placesBy(need.rule) }));
  return (args) => {
    const bound = places.map(({ action, namespace, rule, of }) => {
      const found = of(args);
      // A rule without a place names optional arguments alone, and all of them are absent.
      const isAbsent = rule !== undefined && found.some((path) => path.length === 0);
      return { isAbsent, requests: found.map((path) => ({ action, resource: { namespace, path: [...path] } })) };
    });
    const present = bound.filter(({ isAbsent }) => !isAbsent);
    const all = (present.length > 0 ? present : bound).flatMap(({ requests }) => requests);
    return [...new Map(all.map((request) => [canonicalJson(request), request])).values()];
  };
}

function readNeed(tool: string, text: string): Need {
  const [, action, namespace, steps] = /^(\S+) ([^/$\s][^/]*)(?:\/(.*))?$/s.exec(text) ?? [];
  if (action === undefined || namespace === undefined)
    throw new TypeError(
      `The needs of ${tool}: expected an action and a resource, such as "send mail/$to", not "${text}".`,
    );
  if (steps === undefined) return { action, namespace, rule: undefined };
  const parsed = ArgumentRuleSchema.safeParse({ path: stepsOf(steps) });
  if (!parsed.success) throw new TypeError(`The needs of ${tool}, "${text}": ${describeIssues(parsed.error.issues)}.`);
  return { action, namespace, rule: parsed.data };
}

/** A slash behind the last argument marks a path of folders. */
function stepsOf(text: string): string[] {
  const isFolder = /(?:^|\/)\$[^/]*\/$/.test(text);
  const steps = (isFolder ? text.slice(0, -1) : text).split("/");
  return isFolder ? [...steps.slice(0, -1), `${steps.at(-1)}/`] : steps;
}
