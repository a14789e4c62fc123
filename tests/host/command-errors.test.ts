import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { makeCredential } from "../support/host-world.ts";
import { command, commandJson, commandWith, misused, said, startAskingHost, words } from "../support/terminal.ts";

let host: HostProcess;
let token: string;
/** A port where no server listens. */
const deserted = "http://127.0.0.1:2";

beforeAll(async () => {
  host = await startAskingHost("sqlite");
  ({ token } = await makeCredential(host));
});

/** The only line on standard error, as JSON. */
function errorIn({ stdout, stderr }: { stdout: string; stderr: string }): { code: string; message: string } {
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^[^\n]+\n$/);
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
  return error;
}

describe("with --json an error is one line of JSON on standard error, and ends as it does without", () => {
  for (const row of [
    {
      args: words`grant list --tenant acme --nonsense`,
      code: "invalid_usage",
      exit: 2,
      says: /^unknown option '--nonsense'/,
    },
    { args: words`grant list --tennant acme`, code: "invalid_usage", exit: 2, says: /Did you mean --tenant\?/ },
    {
      args: words`grant revoke --tenant acme`,
      code: "invalid_usage",
      exit: 2,
      says: /^missing required argument 'id'/,
    },
    {
      args: words`grnat list`,
      code: "invalid_usage",
      exit: 2,
      says: /^unknown command 'grnat' \(Did you mean grant\?\)/,
    },
    { args: words`grant list --tenant acme --limit 0`, code: "invalid_usage", exit: 2, says: /^--limit 0: expected/ },
    { args: words`serve --port many`, code: "invalid_config", exit: 2, says: /^--port \(listen\.port\): found "many"/ },
    {
      args: words`serve --config nothing.json`,
      code: "invalid_config",
      exit: 2,
      says: /^nothing\.json does not exist/,
    },
    {
      args: words`grant list --tenant acme --url ${deserted}`,
      code: "unreachable",
      exit: 1,
      says: /^No host answers at/,
    },
    {
      args: words`tools list --token tp_x --url ${deserted}`,
      code: "unreachable",
      exit: 1,
      says: /^No host answers at/,
    },
  ]) {
    test(row.args.join(" "), async () => {
      const printed = await commandWith(host.folder, [...row.args, "--json"]);
      expect(errorIn(printed)).toEqual({ code: row.code, message: expect.stringMatching(row.says) });
      expect(printed.code).toBe(row.exit);
      expect((await commandWith(host.folder, row.args)).code).toBe(row.exit);
    });
  }

  test("a refusal has the host's own code", async () => {
    const printed = await command(host, words`grant revoke nothing --tenant acme --json`);
    expect(printed.code).toBe(1);
    expect(errorIn(printed)).toEqual({
      code: "not_found",
      message: "There is no grant of this id in this tenant. The matching `list` command shows what there is.",
    });
  });

  test("a denial has the code of its reason", async () => {
    const printed = await command(host, words`tools call files.read --args {"path":"a"} --json`, token);
    expect(printed.code).toBe(1);
    expect(errorIn(printed)).toMatchObject({ code: "tool_unavailable" });
  });

  test("a token that is unknown is the host's to refuse", async () => {
    expect(errorIn(await command(host, words`tools list --token tp_wrong --json`))).toMatchObject({
      code: "unauthenticated",
    });
  });
});

describe("a host that cannot start says which setting to correct, and no stack", () => {
  for (const row of [
    {
      args: () => words`serve --port ${new URL(host.url).port}`,
      code: 1,
      says: /^127\.0\.0\.1:\d+ is in use: .* listen\.port \(--port, TURNPIKE_LISTEN_PORT\)\.\n$/,
    },
    {
      args: () => words`serve --port 0 --host 203.0.113.9 --set listen.insecure=true`,
      code: 1,
      says: /^203\.0\.113\.9 is not an address of this machine\. .* listen\.host \(--host, TURNPIKE_LISTEN_HOST\)\.\n$/,
    },
    {
      args: () => words`serve --port 0 --database postgres://me:hunter2@127.0.0.1:2/gate`,
      code: 1,
      says: /^PostgreSQL at 127\.0\.0\.1:2\/gate does not answer: .* database \(--database, TURNPIKE_DATABASE\)\.\n$/,
    },
    {
      args: () => words`serve --port 0 --set tls.certFile=a.pem --set tls.keyFile=b.pem`,
      code: 2,
      says: /^tls\.certFile \(TURNPIKE_TLS_CERT_FILE\): a\.pem does not exist\.\n$/,
    },
  ]) {
    test(String(row.says), async () => {
      const printed = await commandWith(makeFolder(), row.args());
      expect(printed).toEqual({ code: row.code, stdout: "", stderr: expect.stringMatching(row.says) });
    });
  }
});

describe("a host is found", () => {
  test("by TURNPIKE_URL", async () => {
    expect(await commandWith(host.folder, words`grant list --tenant acme`, { TURNPIKE_URL: host.url })).toEqual(
      said("There are no grants."),
    );
  });

  test("by the configuration file that it would be served with, and so is the operator's token", async () => {
    const folder = makeFolder();
    const database = join(host.folder, ".turnpike/turnpike.db");
    const content = JSON.stringify({ listen: { port: Number(new URL(host.url).port) }, database });
    writeFileSync(join(folder, "turnpike.config.json"), content);
    mkdirSync(join(folder, "elsewhere"));
    writeFileSync(join(folder, "elsewhere/host.json"), content);
    expect(await commandWith(folder, words`grant list --tenant acme`)).toEqual(said("There are no grants."));
    const args = words`grant list --tenant acme --config elsewhere/host.json`;
    expect(await commandWith(folder, args)).toEqual(said("There are no grants."));
    expect((await commandWith(folder, words`credential list --url ${deserted}`)).stderr).toContain(
      `${deserted} (--url)`,
    );
  });

  test("with the token of a file", async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, "token"), `${host.operatorToken()}\n`);
    const args = words`grant list --tenant acme --url ${host.url} --token-file token`;
    // The flag wins over the variable.
    expect(await commandWith(folder, args, { TURNPIKE_ADMIN_TOKEN: "tp_wrong" })).toEqual(said("There are no grants."));
    writeFileSync(join(folder, "token"), `${token}\n`);
    expect((await commandWith(folder, words`tools list --url ${host.url} --token-file token`)).code).toBe(0);
  });

  for (const row of [
    { env: { TURNPIKE_URL: deserted }, says: `${deserted} (TURNPIKE_URL)` },
    { env: { TURNPIKE_LISTEN_PORT: "2" }, says: `${deserted} (TURNPIKE_LISTEN_PORT)` },
    { config: { listen: { port: 2 } }, env: {}, says: `${deserted} (turnpike.config.json)` },
  ]) {
    test(`or where it was searched is said: ${row.says}`, async () => {
      const folder = makeFolder();
      writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify(row.config ?? {}));
      for (const args of [words`grant list --tenant acme`, words`tools list --token tp_x`]) {
        const { code, stderr } = await commandWith(folder, args, { TURNPIKE_ADMIN_TOKEN: "tp_x", ...row.env });
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: `No host answers at ${row.says}. Start one with: turnpike serve\n`,
        });
      }
    });
  }

  test("not by a configuration file that is none, whose line and column are named", async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, "turnpike.config.json"), '{\n  "listen": { port: 1 }\n}');
    const { code, stderr } = await commandWith(folder, words`grant list --tenant acme`);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^turnpike\.config\.json:2:15: this is not JSON: /);
  });
});

describe("what is probably a mistake", () => {
  const grant = words`grant create --tenant acme --to agent:helper --from human:alice --resource fiels --action read`;
  const says = "--resource fiels: this host knows no such resource namespace. Did you mean files?";

  test("is a warning before it is done", async () => {
    const printed = await command(host, grant);
    expect(printed).toMatchObject({ code: 0, stderr: `Warning: ${says}\n` });
    expect(printed.stdout).toMatch(/^Issued grant-/);
    // What was granted is known from then on.
    expect((await command(host, grant)).stderr).toBe("");
  });

  test("is an error with --strict, and nothing is done", async () => {
    const args = words`namespace enable fils --tenant acme --actor agent:assistant --strict`;
    const hint = "fils: this host knows no such tool namespace. Did you mean files?";
    expect(await command(host, args)).toEqual(misused(hint, "Nothing was done, because of --strict."));
    const { stdout } = await command(host, words`namespace list --tenant acme --actor agent:assistant`);
    expect(stdout).not.toContain("fils ");
    expect(errorIn(await command(host, [...args, "--json"]))).toMatchObject({ code: "invalid_usage" });
  });

  for (const args of [
    words`grant revoke g --tenant acne`,
    words`credential list --tenant acne`,
    words`escalation show q --tenant acne`,
    words`escalation approve q --tenant acne --ask a`,
    words`audit heads --tenant acne`,
    words`audit verify --tenant acne`,
    words`turn list --tenant acne`,
    words`activity --tenant acne`,
  ]) {
    test(`is a tenant of \`${args.slice(0, 2).join(" ")}\` that nothing is of`, async () => {
      const { stderr } = await command(host, args);
      expect(stderr).toContain(
        "Warning: --tenant acne: nothing on this host is of such a tenant. Did you mean acme?\n",
      );
      expect(await command(host, [...args, "--strict"])).toMatchObject({ code: 2, stdout: "" });
    });
  }

  test("is a tenant that is to be deleted and does not exist", async () => {
    const { stderr } = await command(host, words`tenant delete acne --confirm acne`);
    expect(stderr).toContain("Warning: acne: nothing on this host is of such a tenant. Did you mean acme?\n");
  });

  test("names to an operator the tenants alone that they may see", async () => {
    const hintTo = async (role: string, own: string[], tenant: string): Promise<string> => {
      const made = await commandJson(host, [...words`credential operator --name human:rita --role ${role}`, ...own]);
      const env = { TURNPIKE_ADMIN_TOKEN: (made as { token: string }).token };
      const args = words`escalation list --tenant ${tenant} --url ${host.url}`;
      return (await commandWith(host.folder, args, env)).stderr;
    };
    expect(await hintTo("reviewer", [], "acne")).toContain("Did you mean acme?");
    expect(await hintTo("auditor", ["--tenant", "acme"], "acne")).toContain("Did you mean acme?");
    expect(await hintTo("auditor", ["--tenant", "other"], "acne")).not.toContain("acme");
  });

  test("is said of a request, too, in JSON when that is asked for", async () => {
    const args = words`why --tenant acne --actor agent:a --purpose p --action read --resource files --json`;
    const { code, stderr } = await command(host, args);
    expect(code).toBe(0);
    expect(JSON.parse(stderr)).toEqual({
      warning: { message: "--tenant acne: nothing on this host is of such a tenant. Did you mean acme?" },
    });
  });

  test("is not searched when the flags are wrong by themselves", async () => {
    const { stderr } = await command(host, [...grant.slice(0, 4), ...words`--to bob --from a --resource x --action y`]);
    expect(stderr).toMatch(/^--to bob: expected /);
  });
});

test("serve --json says in one line of JSON where it runs, and where its operator's token is", async () => {
  const folder = makeFolder();
  const started = await startHostProcess({ folder, args: words`serve --port 0 --json` });
  expect(JSON.parse(started.stdout())).toEqual({
    url: started.url,
    console: `${started.url}/console`,
    operatorTokenFile: ".turnpike/admin-token",
  });
  await started.stop();
});

test("a variable that is no setting is a warning on standard error, in JSON too", async () => {
  const env = { TURNPIKE_NONSENSE: "1" };
  const says = "TURNPIKE_NONSENSE is not a setting, and is ignored.";
  const [plain, json] = [
    await commandWith(makeFolder(), words`serve --print-config`, env),
    await commandWith(makeFolder(), words`serve --print-config --json`, env),
  ];
  expect(plain).toMatchObject({ code: 0, stderr: `Warning: ${says}\n` });
  expect(json.code).toBe(0);
  expect(JSON.parse(json.stderr)).toEqual({ warning: { message: says } });
});
