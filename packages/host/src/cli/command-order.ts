import type { Command } from "commander";

/** The commands in the order in which the help lists them: running, who may what, reading, acting, maintenance. */
const order = [
  "serve",
  "login",
  "whoami",
  "context",
  "logout",
  "credential",
  "person",
  "connection",
  "grant",
  "invariant",
  "namespace",
  "tools",
  "escalation",
  "audit",
  "why",
  "reach",
  "principal",
  "tenant",
  "activity",
  "search",
  "webhook",
  "host",
  "console",
  "files",
  "message",
  "turn",
  "mcp",
  "hook",
  "backup",
  "restore",
  "database",
  "doctor",
  "openapi",
  "completion",
];

/** What the list of all commands says of those whose own help says it at length. */
const summaries: Readonly<Record<string, string>> = {
  login: "Sign in to a host, for the commands that follow.",
  whoami: "Show which host is used here, and who you are to it.",
  logout: "Forget the token of a context.",
  person: "See who signs in with a provider, and shut a user out.",
  namespace: "Switch tool namespaces of an actor on and off.",
  escalation: "Read and answer what waits for a person.",
  why: "Explain why an act is allowed or denied.",
  activity: "Show what happened in a tenant in the last hour.",
  search: "Find anything of a tenant by a part of its name.",
  console: "Print a link that opens the console, signed in as you.",
  turn: "Run one turn of an agent, or start, follow and list turns.",
  mcp: "Join an MCP client to a host, or review MCP servers.",
  hook: "Answer the hooks of a coding agent, or install them.",
  backup: "Copy the SQLite database of a host to a file.",
  restore: "Make a backup the database of a host that is stopped.",
  completion: "Print a script that completes this command in a shell.",
};

/** Lists the commands in a sensible order, with a line each. */
export function arrangeCommands(program: Command): void {
  const rank = (command: Command): number => {
    const place = order.indexOf(command.name());
    return place === -1 ? order.indexOf("doctor") - 0.5 : place;
  };
  (program.commands as Command[]).sort((one, other) => rank(one) - rank(other));
  program.configureHelp({ subcommandTerm: (command) => command.name() });
  for (const command of program.commands) {
    const summary = summaries[command.name()];
    if (summary !== undefined) command.summary(summary);
  }
}
