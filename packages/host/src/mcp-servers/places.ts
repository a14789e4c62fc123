import { ArgumentRuleError, optionalArguments, placesBy, type ArgumentRule, type JsonObject } from "turnpike/contracts";
import { ToolError } from "turnpike/kernel";
import { argumentsOf } from "./schema-arguments.ts";

/** The places below its tool that a call acts on. A call that the rule cannot be applied to is denied by a `ToolError`. */
export function placesOfCall(rule: ArgumentRule | undefined): ReturnType<typeof placesBy> {
  const places = placesBy(rule);
  return (args) => {
    try {
      return places(args);
    } catch (error) {
      if (!(error instanceof ArgumentRuleError)) throw error;
      throw new ToolError("invalid_tool_arguments", error.message, { retryable: false });
    }
  };
}

/**
 * An optional argument that the rule names and the tool does not declare; undefined when there is none. It would never be
 * present, so the rule would bind nothing: the name is misspelled, or the server renamed the argument.
 */
export function misnamedArgument(rule: ArgumentRule | undefined, inputSchema: JsonObject): string | undefined {
  const optional = rule === undefined ? [] : optionalArguments(rule);
  if (optional.length === 0) return undefined;
  const declared = new Set(argumentsOf(inputSchema).map(({ keys }) => JSON.stringify(keys)));
  return optional.find((keys) => !declared.has(JSON.stringify(keys)))?.join(".");
}
