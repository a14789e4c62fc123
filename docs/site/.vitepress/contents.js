import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../../..");

/** The menu. A name that ends with a slash means every document below that folder, labelled with its first heading. */
const groups = {
  Start: {
    "README.md": "Overview",
    "docs/guide/quickstarts.md": "Quickstarts",
    "docs/guide/govern-your-agent.md": "Govern your agent",
    "docs/guide/install.md": "Installing",
    "docs/guide/run-the-host.md": "Running the host",
    "docs/guide/operate.md": "Operating it",
    "docs/guide/console.md": "The console",
    "docs/comparison.md": "What to use instead",
  },
  Concepts: {
    "docs/concepts/who-acts.md": "Who acts",
    "docs/concepts/grant.md": "Grant",
    "docs/concepts/delegation.md": "Delegation",
    "docs/concepts/reach.md": "Reach",
    "docs/concepts/turn.md": "Turn",
    "docs/concepts/run-states.md": "States of a run",
    "docs/concepts/escalation.md": "Escalation",
    "docs/concepts/audit.md": "Audit",
  },
  Guides: {
    "docs/guide/turns.md": "Durable turns",
    "docs/guide/acts.md": "Acts",
    "docs/guide/approvals.md": "Approvals",
    "docs/guide/change-grants.md": "Changing grants",
    "docs/guide/invariants.md": "Rules about grants",
    "docs/guide/webhooks.md": "Webhooks",
    "docs/guide/mcp.md": "MCP",
    "docs/guide/coding-agents.md": "Claude Code and Codex",
    "docs/guide/python.md": "Python",
    "docs/guide/models.md": "Models",
    "docs/guide/authzen.md": "AuthZEN",
    "docs/guide/command.md": "The command",
    "docs/guide/backup.md": "Backup and restore",
    "docs/guide/upgrade.md": "Upgrading",
    "docs/guide/sign-in.md": "Signing people in",
    "docs/guide/connect.md": "Connecting clients",
    "docs/guide/rotate.md": "Rotating secrets",
    "docs/guide/years-of-use.md": "Years of use",
    "docs/guide/what-turnpike-needs.md": "What it needs from below",
    "docs/sizing.md": "Sizing",
  },
  "Building on it": {
    "docs/guide/write-your-own-host.md": "Your own host",
    "docs/guide/runtime-plugin.md": "A runtime plugin",
    "examples/": "",
    "conformance/README.md": "Decisions as data",
    "packages/turnpike/README.md": "Package turnpike",
    "packages/host/README.md": "Package turnpike-host",
    "packages/agents/README.md": "Package turnpike-agents",
  },
  Reference: {
    "docs/security/model.md": "Security: the model",
    "docs/security/operate.md": "Operating it securely",
    "SECURITY.md": "Security policy",
    "tests/trust/attacks/README.md": "Attacks that are tried",
    "bench/results.md": "Benchmarks",
    "CHANGELOG.md": "Changelog",
    "CONTRIBUTING.md": "Contributing",
  },
  Decisions: { "docs/adr/": "" },
};

/** Every page: its group, its label in the menu, the file in the repository and the file that the site makes of it. */
export const pages = Object.entries(groups).flatMap(([group, names]) =>
  Object.entries(names)
    .flatMap(([name, label]) => filesOf(name).map((source) => ({ group, source, label: label || titleOf(source) })))
    .map((page) => ({ ...page, target: targetOf(page.source) })),
);

export const sidebar = Object.keys(groups).map((group) => ({
  text: group,
  items: pages
    .filter((page) => page.group === group)
    .map(({ label, target }) => ({ text: label, link: `/${target.replace(/(^index)?\.md$/, "")}` })),
}));

function filesOf(name) {
  if (!name.endsWith("/")) return [name];
  return readdirSync(join(root, name), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
    .map((path) => name + path)
    .toSorted();
}

function titleOf(source) {
  return /^# (.*)$/m.exec(readFileSync(join(root, source), "utf8"))[1];
}

/** `docs/guide/turns.md` becomes `guide/turns.md`, and the README of a folder the page of that folder. */
function targetOf(source) {
  if (source === "README.md") return "index.md";
  return source
    .replace(/^docs\//, "")
    .replace(/\/README\.md$/, ".md")
    .replace(/^[^/]+$/, (name) => name.toLowerCase());
}
