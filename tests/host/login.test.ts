import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { commandWith, misused, refused, words, type Printed } from "../support/terminal.ts";

let host: HostProcess;
let other: HostProcess;
/** Where commands are typed; there is nothing in it. */
let work: string;
/** Tokens by who they are of. */
const tokens: Record<"agent" | "auditor", string> = { agent: "", auditor: "" };
const ids: Record<"agent" | "auditor", string> = { agent: "", auditor: "" };

beforeAll(async () => {
  work = makeFolder();
  host = await startHostProcess({ folder: makeFolder() });
  other = await startHostProcess({ folder: makeFolder() });
  const made = [
    ["agent", words`credential create --tenant acme --actor agent:helper --owner human:alice --purpose support`],
    ["auditor", words`credential operator --name human:carol --role auditor --tenant acme`],
  ] as const;
  for (const [who, args] of made) {
    const { stdout } = await commandWith(host.folder, [...args, "--url", host.url, "--json"]);
    const { token, id } = JSON.parse(stdout) as { token: string; id: string };
    tokens[who] = token;
    ids[who] = id;
  }
});

/** A user who has signed in nowhere yet, in a folder. */
function home(folder = work) {
  const settings = makeFolder();
  const file = join(settings, "turnpike", "contexts.json");
  return {
    settings,
    file,
    run: (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      commandWith(folder, args, { XDG_CONFIG_HOME: settings, ...env }),
    login: (args: readonly string[], token: string) => loginWith(settings, args, token),
    stored: () => JSON.parse(readFileSync(file, "utf8")) as { current?: string; contexts: Record<string, object> },
  };
}

/** Signs in with a token on standard input. */
async function loginWith(settings: string, args: readonly string[], token: string): Promise<Printed> {
  const { PATH = "" } = process.env;
  const env = { PATH, XDG_CONFIG_HOME: settings };
  const child = spawn(process.execPath, [turnpike, "login", ...args], { cwd: work, env });
  const printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (text: string) => (printed[stream] += text));
  child.stdin.on("error", () => {});
  child.stdin.end(token);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...printed };
}

describe("after turnpike login", () => {
  test("commands need neither a host, nor a token, nor a tenant", async () => {
    const { file, login, run } = home();
    const operator = `${host.operatorToken()}\n`;
    expect(await login(words`--url ${host.url} --tenant acme --name work`, operator)).toEqual({
      code: 0,
      stdout: `Signed in to ${host.url} as service:operator, tenant acme (context work).\nIt is the current context now.\n`,
      stderr: "",
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const args = words`grant create --to agent:helper --from human:alice --resource files/notes --action read --json`;
    expect(await run(args)).toMatchObject({ code: 0, stderr: "" });
    expect(await run(words`grant list`)).toMatchObject({ code: 0, stdout: expect.stringContaining("agent:helper") });
    expect(await run(words`turn list`)).toMatchObject({ code: 0, stdout: "No such turn.\n" });
    expect(await run(words`audit verify`)).toMatchObject({ code: 0 });
  });

  test("whoami says which context and host are used and who one is, without the token", async () => {
    const { login, run } = home();
    await login(words`--url ${host.url} --name mine`, tokens.auditor);
    expect(await run(words`whoami`)).toEqual({
      code: 0,
      stdout: `context    mine
host       ${host.url} (context mine)
you are    human:carol
role       operator, auditor
tenant     acme
credential ${ids.auditor}, its token from context
`,
      stderr: "",
    });
    const asAgent = await run(words`whoami --json`, { TURNPIKE_TOKEN: tokens.agent });
    expect(JSON.parse(asAgent.stdout)).toEqual({
      context: "mine",
      contextTenant: "acme",
      url: host.url,
      urlFrom: "context mine",
      tokenFrom: "TURNPIKE_TOKEN",
      kind: "caller",
      credentialId: ids.agent,
      actor: { kind: "agent", agentId: "helper" },
      owner: { kind: "human", userId: "alice" },
      authority: { kind: "human", userId: "alice" },
      tenant: "acme",
      purposes: ["support"],
    });
  });

  test("a credential's commands use its context, and no operator's does", async () => {
    const { login, run } = home();
    await login(words`--url ${host.url} --name helper`, tokens.agent);
    expect(await run(words`tools list --json`)).toMatchObject({ code: 0, stderr: "" });
    expect(await run(words`turn list`)).toMatchObject({ code: 0, stdout: "No such turn.\n" });
    expect(await run(words`grant list`)).toEqual(
      refused(
        "This needs an operator's token: set TURNPIKE_ADMIN_TOKEN, or sign in with one: turnpike login",
        "The context helper is of agent:helper, who is no operator.",
      ),
    );
  });

  test("an operator's context acts for no one", async () => {
    const { login, run } = home();
    await login(words`--url ${host.url} --name carol`, tokens.auditor);
    expect(await run(words`tools list`)).toEqual(
      misused(
        "This acts with a credential: set TURNPIKE_TOKEN, or sign in with its token: turnpike login",
        "An operator makes one: turnpike credential create --help",
        "The context carol is of human:carol, an operator.",
      ),
    );
  });

  test("a host on this machine is known by its database, and no token is stored", async () => {
    const { login, run, file } = home();
    const database = join(host.folder, ".turnpike", "turnpike.db");
    expect(await login(words`--url ${host.url} --database ${database} --name here`, "")).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8")).not.toContain("tp_");
    expect(await run(words`tenant list`)).toMatchObject({ code: 0, stderr: "" });
  });

  test("another context is named, chosen, shown and deleted, and no command shows a token", async () => {
    const { login, run, stored } = home();
    await login(words`--url ${host.url} --name one`, tokens.auditor);
    await login(words`--url ${other.url} --name two`, other.operatorToken());
    expect(stored().current).toBe("two");
    const list = await run(words`context list`);
    expect(list.stdout).toMatch(/^ +NAME +HOST.*\n {3}one .*\n\* {2}two /);
    expect(await run(words`whoami --context one`)).toMatchObject({ stdout: expect.stringMatching(/human:carol/) });
    expect(await run(words`context use one`)).toMatchObject({ code: 0, stdout: "Commands use the context one now.\n" });
    const shown = [list, await run(words`context show --json`), await run(words`context list --json`)];
    for (const { stdout } of shown) expect(stdout).not.toContain("tp_");
    expect(JSON.parse(shown[1]?.stdout ?? "")).toMatchObject({ name: "one", isCurrent: true, isSignedIn: true });
    expect(await run(words`context delete one`)).toMatchObject({
      stdout: "Deleted the context one. No context is the current one now.\n",
    });
    expect(Object.keys(stored().contexts)).toEqual(["two"]);
    expect(await run(words`context use one`)).toEqual(misused("There is no context one. There are two."));
    expect(await run(words`grant list --context twoo`)).toEqual(misused("There is no context twoo. Did you mean two?"));
  });
});

describe("flags count more than the environment, that more than the context, and that more than what lies here", () => {
  const hostOf = async (run: ReturnType<typeof home>["run"], args: readonly string[], env = {}): Promise<unknown> => {
    const { stdout } = await run([...words`whoami --json`, ...args], env);
    return (JSON.parse(stdout) as { url: string }).url;
  };

  test("for where the host is", async () => {
    const folder = makeFolder();
    const { login, run } = home(folder);
    await login(words`--url ${host.url}`, tokens.auditor);
    const port = Number(new URL(other.url).port);
    writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ listen: { port } }));
    const admin = { TURNPIKE_ADMIN_TOKEN: other.operatorToken() };
    expect(await hostOf(run, [])).toBe(host.url);
    expect(await hostOf(run, [], { ...admin, TURNPIKE_URL: other.url })).toBe(other.url);
    expect(await hostOf(run, words`--url ${other.url}`, admin)).toBe(other.url);
    expect(await hostOf(run, words`--config turnpike.config.json`, admin)).toBe(other.url);
  });

  test("for the tenant, which a list may leave", async () => {
    const { login, run } = home();
    await login(words`--url ${host.url} --tenant zeta`, host.operatorToken());
    const tenantsIn = async (args: readonly string[]): Promise<number> => {
      const { stdout } = await run([...words`credential list --json`, ...args]);
      return (JSON.parse(stdout) as { credentials: unknown[] }).credentials.length;
    };
    expect(await tenantsIn([])).toBe(0);
    expect(await tenantsIn(words`--tenant acme`)).toBe(1);
    expect(await tenantsIn(words`--all-tenants`)).toBeGreaterThan(1);
    expect(await run(words`credential list --all-tenants --tenant acme`)).toEqual(
      misused("--all-tenants: expected it or --tenant, not both."),
    );
  });

  test("an operator who is made is of all tenants, whatever the context says", async () => {
    const { login, run } = home();
    await login(words`--url ${host.url} --tenant acme`, host.operatorToken());
    const { stdout } = await run(words`credential operator --name human:dora --role auditor --json`);
    const { id } = JSON.parse(stdout) as { id: string };
    const { stdout: list } = await run(words`credential list --all-tenants --json`);
    const { credentials } = JSON.parse(list) as { credentials: { id: string; access: object }[] };
    expect(credentials.find((one) => one.id === id)?.access).not.toHaveProperty("tenant");
  });

  test("a token that lies in the working directory never goes to the host of a context", async () => {
    const { login, run, settings } = home();
    await login(words`--url ${other.url} --name elsewhere`, other.operatorToken());
    await run(words`logout`);
    // The folder of a host has its operator's token in it.
    const printed = await commandWith(host.folder, words`grant list`, {
      XDG_CONFIG_HOME: settings,
    });
    expect(printed).toEqual(
      refused(
        "This needs an operator's token: set TURNPIKE_ADMIN_TOKEN, or sign in with one: turnpike login",
        "You are signed out of the context elsewhere.",
      ),
    );
  });

  test("a context's token goes to no other host", async () => {
    const { login, run } = home();
    await login(words`--url ${host.url} --name work`, host.operatorToken());
    expect(await run(words`grant list --url ${other.url}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^There is no operator's token: /),
    });
    expect(await run(words`grant list --context work --url ${other.url}`)).toEqual(
      misused("--context work: expected it or --url, not both."),
    );
  });
});

describe("nothing is stored of", () => {
  for (const { name, args, token, code, says } of [
    { name: "a wrong token", args: [], token: "tp_wrong", code: 1, says: /does not accept this token: it is unknown/ },
    { name: "no token", args: [], token: "", code: 2, says: /^Standard input: expected a token alone/ },
    { name: "a token of two lines", args: [], token: "tp_a\ntp_b", code: 2, says: /^Standard input: expected a token/ },
    {
      name: "another tenant than the token's",
      args: words`--tenant zeta`,
      token: "auditor",
      code: 2,
      says: /zeta: .* acme/,
    },
    {
      name: "a name that is none",
      args: words`--name ../x`,
      token: "auditor",
      code: 2,
      says: /^--name \.\.\/x: expected/,
    },
    {
      name: "a host without TLS",
      args: words`--url http://gate.test`,
      token: "auditor",
      code: 2,
      says: /expected https/i,
    },
  ]) {
    test(`a login with ${name}`, async () => {
      const { login, run } = home();
      const sent = token === "auditor" ? tokens.auditor : token;
      const printed = await login([...words`--url ${host.url}`, ...args], sent);
      expect(printed).toEqual({ code, stdout: "", stderr: expect.stringMatching(says) });
      expect(sent !== "" && printed.stderr.includes(sent)).toBe(false);
      expect(await run(words`context list --json`)).toMatchObject({ code: 0, stdout: "[]\n" });
    });
  }
});

test("a token that was revoked is said to be, with the context and what to do", async () => {
  const { login, run } = home();
  const args = words`credential operator --name human:erin --role auditor --json --url ${host.url}`;
  const made = JSON.parse((await commandWith(host.folder, args)).stdout) as { token: string; id: string };
  await login(words`--url ${host.url} --name erin`, made.token);
  expect(await run(words`tenant list`)).toMatchObject({ code: 0 });
  await commandWith(host.folder, words`credential revoke ${made.id} --url ${host.url}`);
  const again =
    "The token of the context erin is unknown, expired or revoked. Sign in again: turnpike login --name erin";
  expect(await run(words`tenant list`)).toEqual(
    refused("Refused (unauthenticated): Send an operator's credential: authorization: Bearer <token>.", again),
  );
  expect(await run(words`whoami`)).toEqual(refused(again));
});

test("what a host refuses names the context that was used", async () => {
  const { login, run } = home();
  await login(words`--url ${host.url} --name mine`, tokens.auditor);
  const { stderr } = await run(words`grant revoke grant-1`);
  expect(stderr).toMatch(
    new RegExp(`^Refused \\(permission_denied\\)[^]*\nThis was the context mine, ${host.url}\\.\n$`),
  );
});

test("logging out forgets the token, and logging in again needs the name alone", async () => {
  const { login, run, file } = home();
  await login(words`--url ${host.url} --name mine`, tokens.auditor);
  expect(await run(words`logout`)).toEqual({
    code: 0,
    stdout: `Signed out of the context mine.\nThe credential is still valid. An operator ends it: turnpike credential revoke ${ids.auditor}\n`,
    stderr: "",
  });
  expect(readFileSync(file, "utf8")).not.toContain("tp_");
  expect(await run(words`tenant list`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("signed out of the context mine"),
  });
  expect(await login(words`--name mine`, tokens.auditor)).toMatchObject({ code: 0 });
  expect(await run(words`tenant list`)).toMatchObject({ code: 0 });
});

test("two logins at once are both stored", async () => {
  const { settings, stored } = home();
  const names = ["a", "b", "c", "d"];
  await Promise.all(names.map((name) => loginWith(settings, words`--url ${host.url} --name ${name}`, tokens.auditor)));
  expect(Object.keys(stored().contexts).toSorted()).toEqual(names);
});

test("a file that others may read is not used, by no command, and a host that is named needs none", async () => {
  const { login, run, file } = home();
  await login(words`--url ${host.url}`, tokens.auditor);
  chmodSync(file, 0o644);
  const says = `${file} is open to others (mode 644), and there may be tokens in it. Make it yours alone: chmod 600 ${file}`;
  for (const args of [words`tenant list`, words`whoami`, words`context list`, words`logout`])
    expect(await run(args)).toEqual(misused(says));
  const named = { TURNPIKE_URL: host.url, TURNPIKE_ADMIN_TOKEN: tokens.auditor };
  expect(await run(words`tenant list`, named)).toMatchObject({ code: 0 });
  chmodSync(file, 0o600);
  expect(await run(words`tenant list`)).toMatchObject({ code: 0 });
});

test("GET /whoami tells no one but the bearer of a valid credential, and counts in their rate", async () => {
  const ask = (token?: string) =>
    fetch(`${host.url}/whoami`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
  for (const token of [undefined, "tp_wrong"]) expect((await ask(token)).status).toBe(401);
  const answer = await ask(tokens.auditor);
  expect([answer.status, answer.headers.has("ratelimit")]).toEqual([200, true]);
  expect(await answer.json()).toEqual({
    kind: "operator",
    credentialId: ids.auditor,
    actor: { kind: "human", userId: "carol" },
    role: "auditor",
    tenant: "acme",
  });
});
