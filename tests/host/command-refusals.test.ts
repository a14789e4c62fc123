import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeFolder, runTurnpike, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";
import { command, commandJson, commandWith, misused, refused, said, words } from "../support/terminal.ts";
import { startAskingHost } from "../support/terminal.ts";

let host: HostProcess;
/** The assistant's token; she holds no grant. */
let token: string;
/** A port where no server listens. */
const deserted = "http://127.0.0.1:2";

beforeAll(async () => {
  host = await startAskingHost("sqlite");
  ({ token } = await makeCredential(host));
});

/** Every command of operators, with all that it needs. */
const operatorCommands = [
  words`credential create --tenant acme --actor agent:a --purpose p`,
  words`credential operator --name human:mallory`,
  words`credential list`,
  words`credential show 0123456789abcdef`,
  words`credential revoke 0123456789abcdef`,
  words`credential rotate 0123456789abcdef`,
  words`grant create --tenant acme --to agent:assistant --from human:alice --resource files --action *`,
  words`grant derive g --tenant acme --to agent:helper`,
  words`grant list --tenant acme`,
  words`grant list`,
  words`grant export --tenant acme`,
  words`grant revoke g --tenant acme`,
  words`grant create --tenant acme --to agent:assistant --from human:alice --resource files --action * --preview`,
  words`grant revoke g --tenant acme --preview`,
  words`tools list --tenant acme --as 0123456789abcdef`,
  words`tools try files.list --tenant acme --as 0123456789abcdef`,
  words`namespace list --tenant acme --actor agent:assistant`,
  words`namespace enable files --tenant acme --actor agent:assistant`,
  words`namespace disable files --tenant acme --actor agent:assistant`,
  words`namespace list`,
  words`escalation list --tenant acme`,
  words`escalation list`,
  words`audit list`,
  words`principal list`,
  words`escalation show q0 --tenant acme`,
  words`escalation approve q0 --tenant acme`,
  words`escalation deny q0 --tenant acme --reason no`,
  words`turn show t0 --tenant acme`,
  words`turn list --tenant acme`,
  words`turn list --all-tenants`,
  words`turn cancel t0 --tenant acme`,
  words`audit list --tenant acme`,
  words`audit heads --tenant acme`,
  words`audit verify --tenant acme`,
  words`audit export --tenant acme --out export.jsonl`,
  words`audit checkpoint --out copy.jsonl`,
  words`audit key`,
  words`tenant list`,
  words`tenant delete acme --confirm acme`,
  words`activity --tenant acme`,
  words`search notes --tenant acme`,
  words`host list`,
  words`principal list --tenant acme`,
  words`reach show --tenant acme --actor agent:a`,
  words`reach who --tenant acme --resource files`,
  words`invariant list --tenant acme`,
  words`invariant remove rule --tenant acme`,
  words`invariant check --tenant acme`,
  words`why --tenant acme --actor agent:a --purpose p --action read --resource files`,
  words`why --tenant acme --trace t`,
];

/** Every command that acts with a credential, with all that it needs. */
const callerCommands = [
  words`tools list`,
  words`tools call files.list --args {"path":""}`,
  words`files list`,
  words`files stat a`,
  words`files read a`,
  words`files search a`,
  words`files grep a`,
  words`files create a --content a`,
  words`files replace a --content a`,
  words`files append a --content a`,
  words`files delete a`,
  words`files snapshot create`,
  words`files snapshot list`,
  words`files snapshot restore s0`,
  words`message send --to human:bob --payload 1`,
  words`message inbox`,
  words`turn --agent assistant --from human:alice --purpose support --message 1`,
  words`turn start --agent assistant --from human:alice --purpose support --message 1`,
  words`turn show t0`,
  words`turn list`,
  words`turn follow t0`,
  words`turn cancel t0`,
];

describe("where no host answers", () => {
  for (const args of [...operatorCommands, ...callerCommands]) {
    test(`${args.join(" ")} says how to start one`, async () => {
      const env = { TURNPIKE_ADMIN_TOKEN: "tp_x", TURNPIKE_TOKEN: "tp_x" };
      const printed = await commandWith(host.folder, [...args, "--url", deserted], env);
      expect(printed).toMatchObject({ code: 1, stdout: "" });
      expect(printed.stderr).toBe(`No host answers at ${deserted} (--url). Start one with: turnpike serve\n`);
    });
  }
});

describe("without a token, or with one that is not good", () => {
  test("an operator's command says where the token is", async () => {
    expect(await commandWith(makeFolder(), words`credential list --url ${host.url}`)).toEqual(
      refused("There is no operator's token: set TURNPIKE_ADMIN_TOKEN, or run this where .turnpike/admin-token is."),
    );
  });

  test("an operator's command with an unknown token says where to get one", async () => {
    expect(
      await commandWith(host.folder, words`credential list --url ${host.url}`, { TURNPIKE_ADMIN_TOKEN: "tp_wrong" }),
    ).toEqual(
      refused(
        "Refused (unauthenticated): Send an operator's credential: authorization: Bearer <token>.",
        "Set TURNPIKE_ADMIN_TOKEN, or name the host's database with --database.",
      ),
    );
  });

  for (const args of callerCommands) {
    test(`${args.join(" ")} says that it needs a credential, and which variable holds it`, async () => {
      expect(await commandWith(host.folder, [...args, "--url", host.url])).toEqual(
        misused(
          "This acts with a credential: set TURNPIKE_TOKEN, or sign in with its token: turnpike login",
          "An operator makes one: turnpike credential create --help",
        ),
      );
    });
  }

  test("a caller's command with an unknown token says so", async () => {
    expect(await command(host, words`tools list --token tp_wrong`)).toEqual(
      refused(
        "Refused (unauthenticated): Send a valid credential: authorization: Bearer <token>.",
        "The token is unknown, expired or revoked.",
      ),
    );
  });

  // What a reader gets who puts the whole output of `credential create` into the variable.
  const pasted = "The token, shown this once:\ntp_0123456789abcdef_secret";

  test("a text that is no token is not shown, and is not taken for a host that is away", async () => {
    const printed = await commandWith(host.folder, words`tools list --url ${host.url}`, { TURNPIKE_TOKEN: pasted });
    expect(printed.code).not.toBe(0);
    expect(printed.stderr).not.toContain("tp_0123456789abcdef_secret");
    expect(printed.stderr).toContain("TURNPIKE_TOKEN");
  });

  test("an operator's text that is no token is not shown, and is not taken for a host that is away", async () => {
    const env = { TURNPIKE_ADMIN_TOKEN: pasted };
    const printed = await commandWith(host.folder, words`credential list --url ${host.url}`, env);
    expect(printed.code).not.toBe(0);
    expect(printed.stderr).not.toContain("tp_0123456789abcdef_secret");
    expect(printed.stderr).not.toContain("No host answers");
    expect(printed.stderr).toContain("TURNPIKE_ADMIN_TOKEN");
  });
});

describe("with the token of an agent", () => {
  for (const args of operatorCommands) {
    test(`${args.join(" ")} is refused`, async () => {
      expect(await commandWith(host.folder, [...args, "--url", host.url], { TURNPIKE_ADMIN_TOKEN: token })).toEqual(
        refused(
          "Refused (permission_denied): This credential is not an operator's.",
          "Use the token of an operator who may: an admin's is in `admin-token` beside the host's database.",
        ),
      );
    });
  }

  test("nothing of it was done", async () => {
    expect(await command(host, words`grant list --tenant acme`)).toEqual(said("There are no grants."));
    const { credentials } = (await commandJson(host, words`credential list --tenant acme`)) as {
      credentials: unknown[];
    };
    expect(credentials).toHaveLength(1);
  });
});

describe("with the token of an operator", () => {
  for (const args of callerCommands.filter(([group]) => group === "files" || group === "message")) {
    test(`${args.join(" ")} is refused: there is no back door`, async () => {
      const printed = await command(host, args, host.operatorToken());
      expect(printed).toMatchObject({ code: 1, stdout: "" });
      expect(printed.stderr).toMatch(/^(Denied|Refused) \(\w+\): /);
    });
  }

  test("a caller's command says that it needs another credential", async () => {
    const { stderr } = await command(host, words`files read a`, host.operatorToken());
    expect(stderr).not.toMatch(/^Refused \(invalid_access_context\): No valid access context could be resolved\.\n$/);
    expect(stderr).toMatch(/turnpike (why|credential create)|TURNPIKE_TOKEN/);
  });
});

describe("what is not there", () => {
  const list = "The matching `list` command shows what there is.";
  for (const { args, printed } of [
    {
      args: words`credential revoke nothing`,
      printed: refused("Refused (not_found): There is no credential of this id.", list),
    },
    {
      args: words`credential show nothing`,
      printed: refused("Refused (not_found): There is no credential of this id.", list),
    },
    {
      args: words`grant revoke nothing --tenant acme`,
      printed: refused("Refused (not_found): There is no grant of this id in this tenant.", list),
    },
    {
      args: words`grant derive nothing --tenant acme --to agent:helper`,
      printed: refused("Refused (not_found): There is no grant of this id to derive from.", list),
    },
    {
      args: words`turn show nothing --tenant acme`,
      printed: refused("Refused (not_found): There is no turn of this id in this tenant.", list),
    },
    {
      args: words`turn cancel .. --tenant acme`,
      printed: refused("executionId: expected an id that a URL can name"),
    },
    {
      args: words`why --tenant acme --trace nothing`,
      printed: refused("Refused (not_found): There is no denial of this trace in the audit log.", list),
    },
  ]) {
    test(`${args.join(" ")} says so, and where to look`, async () => {
      expect(await command(host, args)).toEqual(printed);
    });
  }

  for (const args of [
    words`escalation approve nothing --tenant acme`,
    words`escalation deny nothing --tenant acme --reason no`,
    words`escalation approve --tenant acme --wants ${"read files/notes"}`,
  ]) {
    test(`${args.join(" ")} says so, with a command that works as it is`, async () => {
      const { code, stderr } = await command(host, args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^There is no such escalation in acme\. /);
      expect(stderr).toMatch(/turnpike escalation list .*--tenant acme/);
    });
  }

  test("a grant that is there already is not issued again", async () => {
    await makeGrant(host, { id: "taken", tenant: "twice", resource: "files", actions: ["read"] });
    const args = words`grant create --tenant twice --to agent:a --from human:b --resource files --action read --id taken`;
    expect(await command(host, args)).toEqual(
      refused(
        "Refused (conflict): id: expected an id that no grant of this tenant has.",
        "Check again with the matching `list` command.",
      ),
    );
  });

  test("what is revoked already is not revoked again", async () => {
    const { id } = await makeCredential(host, { tenant: "twice" });
    await makeGrant(host, { id: "once", tenant: "twice", resource: "files", actions: ["read"] });
    for (const args of [words`credential revoke ${id}`, words`grant revoke once --tenant twice`]) {
      expect((await command(host, args)).code).toBe(0);
      const again = await command(host, args);
      expect(again).toMatchObject({ code: 1, stdout: "" });
      expect(again.stderr).toMatch(
        /^Refused \(conflict\): .*revoked before.*\nCheck again with the matching `list` command\.\n$/,
      );
    }
  });
});

describe("a value that its flag does not take is named, with what is expected, before anything is asked", () => {
  const create = words`grant create --tenant acme --to agent:a --from human:b --resource files --action read`;
  const derive = words`grant derive g --tenant acme --to agent:a`;
  const why = words`why --tenant acme --actor agent:a --purpose p --action read --resource files`;
  const made = words`credential create --tenant acme --actor agent:a --purpose p`;
  const turn = words`turn --agent a --from human:b --purpose p --message 1`;
  for (const { args, flag, value } of [
    { args: made, flag: "--actor", value: "bob" },
    { args: made, flag: "--owner", value: "human:" },
    { args: made, flag: "--authority", value: "robot:bob" },
    { args: made, flag: "--expires", value: "soon" },
    { args: words`credential operator`, flag: "--name", value: "bob" },
    { args: words`credential operator --name human:c`, flag: "--expires", value: "0d" },
    { args: words`credential list`, flag: "--limit", value: "many" },
    { args: create, flag: "--to", value: "bob" },
    { args: create, flag: "--from", value: "bob" },
    { args: create, flag: "--owner", value: "bob" },
    { args: create, flag: "--expires", value: "tomorrow" },
    { args: create, flag: "--uses", value: "0" },
    { args: create, flag: "--depth", value: "-1" },
    { args: derive, flag: "--to", value: "bob" },
    { args: derive, flag: "--expires", value: "1w" },
    { args: derive, flag: "--uses", value: "1.5" },
    { args: words`credential operator --name human:carol`, flag: "--role", value: "owner" },
    { args: words`grant list --tenant acme`, flag: "--to", value: "bob" },
    { args: words`grant list --tenant acme`, flag: "--from", value: "bob" },
    { args: words`grant list --tenant acme`, flag: "--state", value: "dead" },
    { args: words`grant list --tenant acme`, flag: "--limit", value: "0" },
    { args: words`namespace list --tenant acme`, flag: "--actor", value: "bob" },
    { args: words`namespace enable files --tenant acme`, flag: "--actor", value: "bob" },
    { args: words`namespace disable files --tenant acme`, flag: "--actor", value: "bob" },
    { args: words`escalation list --tenant acme`, flag: "--status", value: "open" },
    { args: words`escalation list --tenant acme`, flag: "--limit", value: "many" },
    { args: words`escalation approve --tenant acme`, flag: "--expires", value: "soon" },
    { args: words`escalation approve --tenant acme`, flag: "--uses", value: "0" },
    { args: words`audit list --tenant acme`, flag: "--actor", value: "bob" },
    { args: words`audit list --tenant acme`, flag: "--from", value: "yesterday" },
    { args: words`audit list --tenant acme`, flag: "--until", value: "2026-01-01" },
    { args: words`audit list --tenant acme`, flag: "--type", value: "nonsense" },
    { args: words`audit list --tenant acme`, flag: "--outcome", value: "maybe" },
    { args: words`audit list --tenant acme`, flag: "--limit", value: "many" },
    { args: words`tenant list`, flag: "--limit", value: "0" },
    { args: words`principal list --tenant acme`, flag: "--limit", value: "0" },
    { args: words`reach show --tenant acme`, flag: "--actor", value: "bob" },
    { args: words`reach show --tenant acme --actor agent:a`, flag: "--owner", value: "bob" },
    { args: words`reach show --tenant acme --actor agent:a`, flag: "--authority", value: "bob" },
    { args: words`reach who --tenant acme --resource files`, flag: "--owner", value: "bob" },
    { args: why, flag: "--actor", value: "bob" },
    { args: why, flag: "--owner", value: "bob" },
    { args: why, flag: "--authority", value: "bob" },
    { args: why, flag: "--at", value: "yesterday" },
    { args: words`message send --payload 1`, flag: "--to", value: "bob" },
    { args: words`message inbox`, flag: "--limit", value: "0" },
    { args: words`files list`, flag: "--limit", value: "0" },
    { args: words`files list`, flag: "--depth", value: "0" },
    { args: words`files replace a --content b`, flag: "--expected-version", value: "one" },
    { args: words`files create a`, flag: "--file", value: "/nothing/here" },
    { args: turn, flag: "--from", value: "bob" },
    { args: words`turn start --agent a --purpose p --message 1`, flag: "--from", value: "bob" },
    { args: words`turn list`, flag: "--status", value: "runing" },
    { args: words`turn list`, flag: "--limit", value: "0" },
    { args: words`turn show t0 --tenant acme`, flag: "--actor", value: "bob" },
    { args: words`credential list`, flag: "--url", value: "nonsense" },
    { args: words`tools list`, flag: "--url", value: "nonsense" },
  ]) {
    test(`${args.slice(0, 2).join(" ")} ${flag} ${value}`, async () => {
      const env = { TURNPIKE_TOKEN: token };
      const printed = await commandWith(host.folder, [...args, "--url", host.url, flag, value], env);
      expect(printed).toMatchObject({ code: 2, stdout: "" });
      expect(printed.stderr.startsWith(`${flag} ${value}: expected `)).toBe(true);
    });
  }

  for (const { args, says } of [
    {
      args: words`tools call files.list --args {path`,
      says: `--args: expected JSON, such as '{"path":"notes/todo.md"}'.`,
    },
    { args: words`tools call files.list --args []`, says: "--args: expected a JSON object." },
    { args: words`tools try files.list --tenant acme --as c0 --args []`, says: "--args: expected a JSON object." },
    {
      args: words`tools list --as c0`,
      says: "tools list: expected --as and --tenant together, or neither of them.",
    },
    {
      args: words`tools list --tenant acme --as c0 --token tp_x`,
      says: "--token: with --as this acts as an operator. Set TURNPIKE_ADMIN_TOKEN instead.",
    },
    {
      args: words`message send --to human:bob --payload hello`,
      says: `--payload: expected JSON, such as '{"path":"notes/todo.md"}'.`,
    },
    {
      args: words`turn --agent a --from human:b --purpose p --message hello`,
      says: `--message: expected JSON, such as '{"path":"notes/todo.md"}'.`,
    },
    {
      args: words`turn --agent a --from human:b --message 1`,
      says: "turn: expected --purpose, one of the credential's.",
    },
    {
      args: words`turn start --agent a --from human:b --message 1`,
      says: "turn start: expected --purpose, one of the credential's.",
    },
    {
      args: words`turn show t0 --actor agent:a`,
      says: "--actor: expected together with --tenant; without it, turns are your own.",
    },
    {
      args: words`turn cancel t0 --tenant acme --token tp_x`,
      says: "--token: with --tenant this acts as an operator. Set TURNPIKE_ADMIN_TOKEN instead.",
    },
    {
      args: words`turn list --tenant acme --all-tenants`,
      says: "--all-tenants: expected it or --tenant, not both.",
    },
    { args: words`files create a`, says: "expected --content or --file, and one of them only." },
    {
      args: words`escalation approve --tenant acme`,
      says: "escalation: expected the id of an escalation, or --turn with the turn that waits for it, or --wants with what it requests.",
    },
    { args: words`files create a --content a --file b`, says: "expected --content or --file, and one of them only." },
    {
      args: words`why --tenant acme --actor agent:a`,
      says: "why: expected --trace, or all of --actor, --purpose, --action and --resource.",
    },
    {
      args: words`why --tenant acme --trace t --at 2026-01-31T12:00:00Z`,
      says: "--at: expected it or --trace, not both.",
    },
    {
      args: words`audit list --follow`,
      says: "--follow: expected together with --tenant, because each tenant has a stream of its own.",
    },
    {
      args: words`turn list --all-tenants --actor agent:assistant`,
      says: "--actor: expected together with --tenant, because actors belong to a tenant.",
    },
  ]) {
    test(args.join(" "), async () => {
      expect(await command(host, args, token)).toEqual(misused(says));
    });
  }
});

describe("a derived grant is narrowed by all that was said, or not issued", () => {
  for (const { name, narrowing } of [
    { name: "a resource without an action", narrowing: words`--resource files/notes/todo.md` },
    { name: "an action without a resource", narrowing: words`--action read` },
    { name: "--exact without a resource", narrowing: words`--exact` },
    { name: "an owner without a resource", narrowing: words`--owner human:alice` },
  ]) {
    test(name, async () => {
      const tenant = `narrow-${name.replaceAll(" ", "-")}`;
      const create = words`grant create --tenant ${tenant} --to agent:assistant --from human:alice --depth 1 --id parent`;
      expect((await command(host, [...create, ...words`--resource files/notes --action read delete`])).code).toBe(0);
      const derive = words`grant derive parent --tenant ${tenant} --to agent:helper --id child`;
      const printed = await command(host, [...derive, ...narrowing]);
      expect(await command(host, words`grant list --tenant ${tenant} --to agent:helper`)).toEqual(
        said("There are no grants."),
      );
      expect(printed).toMatchObject({ code: 2, stdout: "" });
    });
  }
});

describe("what is no command", () => {
  for (const { args, says } of [
    { args: words`nonsense`, says: /unknown command 'nonsense'/ },
    { args: words`grant nonsense`, says: /unknown command 'nonsense'/ },
    { args: words`files snapshot nonsense`, says: /unknown command 'nonsense'/ },
    { args: words`grant lst`, says: /unknown command 'lst'\n\(Did you mean list\?\)/ },
    { args: words`grant list --tenant acme --nonsense`, says: /unknown option '--nonsense'/ },
    { args: words`grant export`, says: /required option '--tenant <id>' not specified/ },
    { args: words`grant create --tenant acme`, says: /required option '--to <kind:id>' not specified/ },
    { args: words`grant revoke --tenant acme`, says: /missing required argument 'id'/ },
    { args: words`grant revoke one two --tenant acme`, says: /too many arguments/ },
    { args: words`credential create --tenant acme`, says: /required option '--actor <kind:id>' not specified/ },
    {
      args: words`credential create --tenant a --actor agent:a`,
      says: /required option '--purpose <purposes...>' not/,
    },
    { args: words`credential revoke`, says: /missing required argument 'id'/ },
    { args: words`namespace enable --tenant a --actor agent:a`, says: /missing required argument 'namespaces'/ },
    { args: words`namespace enable files --tenant a`, says: /required option '--actor <kind:id>' not specified/ },
    { args: words`escalation deny q0 --tenant a`, says: /required option '--reason <text>' not specified/ },
    { args: words`escalation approve q0`, says: /required option '--tenant <id>' not specified/ },
    { args: words`audit verify`, says: /required option '--tenant <id>' not specified/ },
    {
      args: words`audit verify --tenant a --checkpoint none.jsonl`,
      says: /--checkpoint none.jsonl: there is no such file/,
    },
    { args: words`audit checkpoint`, says: /required option '--out <file>' not specified/ },
    {
      args: words`audit checkpoint --out copy --key none.pem`,
      says: /--key: none.pem cannot be read as an Ed25519 key/,
    },
    { args: words`why`, says: /required option '--tenant <id>' not specified/ },
    { args: words`tools call`, says: /missing required argument 'tool'/ },
    { args: words`message send --to human:b`, says: /required option '--payload <json>' not specified/ },
    { args: words`files read`, says: /missing required argument 'path'/ },
    { args: words`files snapshot restore`, says: /missing required argument 'snapshot'/ },
    { args: words`turn --agent a`, says: /required option '--from <kind:id>' not specified/ },
    { args: words`turn --agent a --from human:b --message`, says: /option '--message <json>' argument missing/ },
    { args: words`turn`, says: /required option '--agent <id>' not specified/ },
    { args: words`turn strat`, says: /unknown command 'strat'\n\(Did you mean start\?\)/ },
    { args: words`turn start --agent a`, says: /required option '--from <kind:id>' not specified/ },
    { args: words`turn follow`, says: /missing required argument 'id'/ },
  ]) {
    test(`${args.join(" ")} ends with 2 and says what is wrong`, async () => {
      const printed = await commandWith(host.folder, args, { TURNPIKE_TOKEN: token });
      expect(printed).toMatchObject({ code: 2, stdout: "" });
      expect(printed.stderr).toMatch(says);
    });
  }

  for (const args of [words`nonsense`, words`grant nonsense`, words`grant list --tenant acme --nonsense`, words`why`]) {
    test(`${args.join(" ")} says where to read on`, async () => {
      expect((await commandWith(host.folder, args)).stderr).toMatch(/--help/);
    });
  }

  for (const args of [[], ["grant"], ["files", "snapshot"]]) {
    test(`${["turnpike", ...args].join(" ")} alone ends with 2 and shows what there is`, async () => {
      const printed = await commandWith(host.folder, args);
      expect(printed).toMatchObject({ code: 2, stdout: "" });
      expect(printed.stderr).toMatch(/\nCommands:\n/);
    });
  }
});

describe("what is no host of ours", () => {
  let server: { url: string; close(): Promise<void> };
  beforeAll(async () => {
    server = await listen(
      createServer((request, response) => {
        response.writeHead(request.url?.includes("grants") === true ? 200 : 404).end("<h1>It works!</h1>");
      }),
    );
  });
  afterAll(() => server.close());

  for (const { args, says } of [
    { args: words`credential list`, says: /^Refused \(HTTP 404\): Is this a Turnpike host\?\n$/ },
    {
      args: words`grant list --tenant acme`,
      says: /^The host's answer is not understood; is it of another version\? /,
    },
    { args: words`tools list`, says: /^Refused \(\w+\): / },
  ]) {
    test(`${args.join(" ")} says so`, async () => {
      const env = { TURNPIKE_ADMIN_TOKEN: "tp_x", TURNPIKE_TOKEN: "tp_x" };
      const printed = await commandWith(host.folder, [...args, "--url", server.url], env);
      expect(printed).toMatchObject({ code: 1, stdout: "" });
      expect(printed.stderr).toMatch(says);
    });
  }
});

describe("serve, doctor and openapi", () => {
  test("the configuration in force is JSON without its password", async () => {
    const args = words`serve --print-config --port 0 --database postgres://me:hunter2@db/turnpike --set limits.burst=7`;
    const { code, stdout } = await commandWith(makeFolder(), args);
    expect(code).toBe(0);
    expect(stdout).not.toContain("hunter2");
    expect(JSON.parse(stdout)).toMatchObject({
      database: "postgres://me:***@db/turnpike",
      listen: { port: 0 },
      limits: { burst: 7 },
    });
  });

  for (const { args, says } of [
    {
      args: words`serve --port many`,
      says: /^--port \(listen\.port\): found "many", expected a whole number from 0 to 65535\.\n$/,
    },
    { args: words`serve --set nonsense`, says: /^--set nonsense: expected key=value\.\n$/ },
    { args: words`serve --set nonsense=1`, says: /nonsense/ },
    { args: words`serve --config nothing.json`, says: /^nothing\.json does not exist\.\n$/ },
  ]) {
    test(`${args.join(" ")} names what is wrong and starts nothing`, async () => {
      const printed = await commandWith(makeFolder(), args);
      expect(printed).toMatchObject({ code: 2, stdout: "" });
      expect(printed.stderr).toMatch(says);
    });
  }

  test("the doctor's findings are lines for people and JSON for scripts, and a bad one ends with 1", async () => {
    const folder = makeFolder();
    const [good, found] = await Promise.all([
      commandWith(folder, words`doctor --port 0`),
      commandWith(folder, words`doctor --port 0 --json`),
    ]);
    expect(good.code).toBe(0);
    expect(good.stdout).toMatch(/^(ok {2}[^\n]+: [^\n]+\n)+$/);
    expect(JSON.parse(found.stdout)).toContainEqual({ check: "configuration", isOk: true, says: expect.any(String) });
    mkdirSync(join(folder, ".turnpike"), { recursive: true });
    writeFileSync(join(folder, ".turnpike/admin-token"), "x", { mode: 0o644 });
    const bad = await commandWith(folder, words`doctor --port 0`);
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(/^BAD /m);
  });

  test("openapi describes the agents' and the operators' API as JSON", async () => {
    const { code, stdout } = await commandWith(host.folder, words`openapi`);
    expect(code).toBe(0);
    const { paths } = JSON.parse(stdout) as { paths: Record<string, unknown> };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(["/v1/turns", "/admin/v1/grants", "/admin/v1/explanations"]),
    );
  });
});

test("a real process ends with 0, 1 and 2 alike", async () => {
  const run = async (args: string[]) => (await runTurnpike({ folder: host.folder, args })).code;
  expect(
    await Promise.all([
      run(words`grant list --tenant acme --url ${host.url}`),
      run(words`grant revoke nothing --tenant acme --url ${host.url}`),
      run(words`grant revoke`),
    ]),
  ).toEqual([0, 1, 2]);
});

async function listen(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
