import { programName } from "../shared/index.ts";
import type { Command } from "commander";
import type { Show } from "./connection.ts";
import { changeContexts, type Context, contextFile, readContexts } from "./contexts.ts";
import { namedContext } from "./login-commands.ts";
import { type Column, oneLine, renderTable } from "./table.ts";

/** What may be shown of a context: everything but its token. */
type ShownContext = Omit<Context, "token"> & { name: string; isCurrent: boolean; isSignedIn: boolean };

/** `context list | show | use | delete`. */
export function addContextCommands(program: Command, show: Show): void {
  const contexts = program
    .command("context")
    .description("Choose among the hosts that you signed in to.")
    .exitOverride();
  const add = (verb: string, description: string, example: string): Command =>
    contexts
      .command(verb)
      .description(description)
      .option("--json", "print JSON")
      .addHelpText("after", `\nExample:\n  turnpike ${example}`)
      .exitOverride();
  const file = (): string => contextFile(process.env);
  add("list", "List the contexts.", "context list").action((flags: { json?: boolean }) => {
    const list = allShown();
    show(
      flags,
      list,
      list.length === 0 ? `There is no context. Sign in with ${programName()} login.` : renderTable(columns, list),
    );
  });
  add("show", "Show a context, without its token.", "context show gate.example.com")
    .argument("[name]", "the context; the current one unless given")
    .action((given: string | undefined, flags: { json?: boolean }) => {
      const [name] = namedContext(readContexts(file()), given);
      const context = allShown().find((one) => one.name === name);
      const lines = Object.entries(context ?? {}).map(([key, value]) => oneLine(`${key.padEnd(14)}${String(value)}`));
      show(flags, context, lines.join("\n"));
    });
  add("use", "Make a context the current one.", "context use gate.example.com")
    .argument("<name>", "the context")
    .action(async (given: string, flags: { json?: boolean }) => {
      const name = await changeContexts(file(), (stored) => {
        const [found] = namedContext(stored, given);
        return (stored.current = found);
      });
      show(flags, { current: name }, `Commands use the context ${oneLine(name)} now.`);
    });
  add("delete", "Delete a context, with its token.", "context delete gate.example.com")
    .argument("<name>", "the context")
    .action(async (given: string, flags: { json?: boolean }) => {
      const isCurrent = await changeContexts(file(), (stored) => {
        const [name] = namedContext(stored, given);
        delete stored.contexts[name];
        if (stored.current !== name) return false;
        delete stored.current;
        return true;
      });
      const now = isCurrent ? " No context is the current one now." : "";
      show(flags, { deleted: given }, `Deleted the context ${oneLine(given)}.${now}`);
    });
}

function allShown(): ShownContext[] {
  const { current, contexts } = readContexts(contextFile(process.env));
  return Object.entries(contexts).map(([name, { token, ...context }]) => ({
    name,
    isCurrent: name === current,
    isSignedIn: token !== undefined || context.database !== undefined,
    ...context,
  }));
}

const columns: readonly Column<ShownContext>[] = [
  { heading: "", value: ({ isCurrent }) => (isCurrent ? "*" : "") },
  { heading: "NAME", value: ({ name }) => name },
  { heading: "HOST", value: ({ url }) => url, shrinks: 1 },
  { heading: "YOU ARE", value: ({ actor, isSignedIn }) => (isSignedIn ? actor : "signed out") },
  { heading: "KIND", value: ({ kind }) => kind },
  { heading: "TENANT", value: ({ tenant = "" }) => tenant },
];
