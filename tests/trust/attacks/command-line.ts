import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { cli, operate, run, typed } from "./surfaces.ts";
import { issue, openWorld, type World } from "./world.ts";

/** What a terminal obeys, besides the line breaks that end our own lines. */
const obeyed = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/u;
const hostile = "a\u001b[2J\u001b]0;owned\u0007\u202eb\u200bc";

/** Whether a command printed something that a terminal obeys. */
async function printed(world: World, args: readonly string[], env = {}): Promise<Seen> {
  const { says, text } = await cli(world, args, env);
  return { says: `${says}, ${obeyed.test(text) ? "obeyed" : "only shown"}`, text };
}

/** Words of others on the operator's terminal, beside harmless ones. */
function shown(
  name: string,
  write: (world: World, words: string) => Promise<unknown>,
  args: readonly string[],
  leaves: Attack["leaves"],
): Attack {
  const both = async (world: World, words: string) => {
    await write(world, words);
    return printed(world, args);
  };
  return attack({
    name,
    surface: "CLI",
    attack: (world) => both(world, `${hostile}${world.fresh()}`),
    held: "exit 0, only shown",
    ...(leaves && { leaves }),
    control: (world) => both(world, world.fresh("plain")),
    succeeds: "exit 0, only shown",
  });
}

/** A folder in which a caller left a configuration file. */
function folderWith(world: World, config: object): string {
  const folder = join(world.folder, world.fresh("folder"));
  mkdirSync(folder);
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify(config));
  return folder;
}

const rows: readonly Attack[] = [
  shown(
    "The id of a grant rewrites the operator's screen",
    (world, words) => issue(world, "files/notes", { id: words }),
    ["grant", "list", "--tenant", "acme", "--limit", "500"],
    ["grants"],
  ),
  shown(
    "The reason of an escalation rewrites the operator's screen",
    (world, words) => run(world, "assistant", { escalate: { reason: words } }),
    ["escalation", "list", "--tenant", "acme"],
    ["escalations", "turns", "replay"],
  ),
  shown(
    "The id of a turn rewrites the operator's screen",
    (world, words) => run(world, "assistant", {}, { id: words }),
    ["turn", "list", "--tenant", "acme"],
    ["turns", "replay"],
  ),
  attack({
    name: "The content of a file rewrites the reader's screen",
    surface: "CLI",
    async prepare(world) {
      const path = `notes/${world.fresh("hostile")}`;
      await operate(world, "alice", "create", path, { content: hostile });
      return path;
    },
    attack: (world, path) =>
      printed(world, ["files", "grep", "a", "--in", path], { TURNPIKE_TOKEN: world.tokens.assistant }),
    held: "exit 0, only shown",
    leaves: ["replay"],
    control: (world) =>
      printed(world, ["files", "grep", "water", "--in", "notes"], { TURNPIKE_TOKEN: world.tokens.assistant }),
    succeeds: "exit 0, only shown",
  }),
  attack({
    name: "An operator gives their token as an argument, where every user of the machine sees it",
    surface: "CLI",
    attack: (world) => cli(world, ["grant", "list", "--tenant", "acme", "--token", "tp_seen"]),
    held: "exit 2",
    control: (world) =>
      cli(world, ["grant", "list", "--tenant", "acme"], { TURNPIKE_ADMIN_TOKEN: world.tokens.acmeAdmin }),
    succeeds: "exit 0",
  }),
  attack({
    name: "A configuration file that another party left in the folder leads the operator's token elsewhere",
    surface: "CLI",
    attack: (world) => {
      const folder = folderWith(world, { listen: { host: "203.0.113.9", port: 80 }, publicUrl: "http://evil.example" });
      return typed(folder, ["grant", "list", "--tenant", "acme"], { TURNPIKE_ADMIN_TOKEN: world.tokens.admin });
    },
    held: "exit 2",
    control: (world) => {
      const folder = folderWith(world, { listen: { port: Number(new URL(world.url).port) } });
      return typed(folder, ["grant", "list", "--tenant", "acme"], { TURNPIKE_ADMIN_TOKEN: world.tokens.admin });
    },
    succeeds: "exit 0",
  }),
  attack({
    name: "A configuration file that is no JSON has its secrets repeated in the error",
    surface: "CLI",
    async attack(world) {
      const folder = folderWith(world, {});
      writeFileSync(join(folder, "turnpike.config.json"), `{"database": "postgres://me:${world.tokens.admin}@db" oops`);
      return typed(folder, ["grant", "list", "--tenant", "acme"], {});
    },
    held: "exit 2",
    control: (world) => cli(world, ["grant", "list", "--tenant", "acme"]),
    succeeds: "exit 0",
  }),
  attack({
    name: "An agent's token is given to an operator's command",
    surface: "CLI",
    attack: (world) =>
      cli(world, ["grant", "list", "--tenant", "acme", "--json"], { TURNPIKE_ADMIN_TOKEN: world.tokens.alice }),
    held: "exit 1 permission_denied",
    control: (world) =>
      cli(world, ["grant", "list", "--tenant", "acme", "--json"], { TURNPIKE_ADMIN_TOKEN: world.tokens.acmeAuditor }),
    succeeds: "exit 0",
  }),
  attack({
    name: "An auditor revokes a grant by the command",
    surface: "CLI",
    prepare: (world) => issue(world, "files/notes"),
    attack: (world, id) =>
      cli(world, ["grant", "revoke", id, "--tenant", "acme", "--json"], {
        TURNPIKE_ADMIN_TOKEN: world.tokens.acmeAuditor,
      }),
    held: "exit 1 permission_denied",
    control: (world, id) =>
      cli(world, ["grant", "revoke", id, "--tenant", "acme", "--json"], {
        TURNPIKE_ADMIN_TOKEN: world.tokens.acmeAdmin,
      }),
    succeeds: "exit 0",
  }),
  attack({
    name: "A file of grants says a key twice: a reader sees one value, the program uses the other",
    surface: "CLI",
    async prepare(world) {
      const tenant = world.fresh("filed");
      await issue(world, "files/notes", { tenant, actions: ["read"] });
      const { text } = await cli(world, ["grant", "export", "--tenant", tenant]);
      const [once, twice] = [join(world.folder, world.fresh("once")), join(world.folder, world.fresh("twice"))];
      writeFileSync(once, text);
      writeFileSync(twice, text.replace('"actions":', '"actions": ["list"], "actions":'));
      return { once, twice };
    },
    attack: (world, { twice }) => cli(world, ["grant", "apply", "-f", twice, "--yes"]),
    held: "exit 2",
    control: (world, { once }) => cli(world, ["grant", "apply", "-f", once, "--yes"]),
    succeeds: "exit 0",
  }),
  attack({
    name: "A host is told to listen to the network without TLS",
    surface: "CLI",
    attack: (world) => typed(world.folder, ["serve", "--print-config", "--set", "listen.host=0.0.0.0"], {}),
    held: "exit 2",
    control: (world) => typed(world.folder, ["serve", "--print-config", "--set", "listen.host=127.0.0.1"], {}),
    succeeds: "exit 0",
  }),
  attack({
    name: "The printed configuration shows the password of the database",
    surface: "CLI",
    async attack(world) {
      world.secrets.add("hunter-2-9c");
      return typed(
        world.folder,
        ["serve", "--print-config", "--set", "database=postgres://me:hunter-2-9c@127.0.0.1/db"],
        {},
      );
    },
    held: "exit 0",
    control: (world) => typed(world.folder, ["serve", "--print-config"], {}),
    succeeds: "exit 0",
  }),
  attack({
    name: "The operator's token lies in a file that others can read",
    surface: "CLI",
    async attack(world) {
      const file = join(world.folder, ".turnpike", "admin-token");
      chmodSync(file, 0o644);
      const { text } = await typed(world.folder, ["doctor"]);
      chmodSync(file, 0o600);
      return { says: /admin-token.*(0?644|others|chmod)/.test(text) ? "doctor says so" : "doctor says nothing", text };
    },
    held: "doctor says so",
    async control(world) {
      const { text } = await typed(world.folder, ["doctor"]);
      return { says: /admin-token.*(0?644|others|chmod)/.test(text) ? "doctor says so" : "nothing to say", text };
    },
    succeeds: "nothing to say",
  }),
];

export const commandLine: Group = { name: "command line", open: () => openWorld(), attacks: rows };
