import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { alice } from "../../test/records.ts";
import { createHeaderSecrets, fetchWith, HeaderSecretError } from "./header-secrets.ts";

afterEach(() => void vi.unstubAllEnvs());

const of = (namespaceId = "acme", userId = "alice") => ({ namespaceId, owner: { kind: "human", userId } as const });

/** A command that runs a line of JavaScript, with these arguments. */
function script(line: string, ...args: readonly string[]): { command: string[] } {
  return { command: [process.execPath, "-e", line, ...args] };
}

async function read(secret: object, owner = of(), timeoutMs = 5000): Promise<string | undefined> {
  return (await createHeaderSecrets({ authorization: secret }, owner, { timeoutMs }).read())["authorization"];
}

async function failure(secret: object, owner = of(), timeoutMs = 5000): Promise<string> {
  const error: unknown = await read(secret, owner, timeoutMs).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(HeaderSecretError);
  return (error as Error).message;
}

const showArguments = "process.stdout.write(JSON.stringify(process.argv.slice(1)))";

describe("a value", () => {
  test("is what a file of the owner's holds, without white space at its end", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "acme"));
    writeFileSync(join(folder, "acme", "human:alice"), "Bearer a-key \r\n\n");
    expect(await read({ file: join(folder, "{tenant}", "{owner}") })).toBe("Bearer a-key");
  });

  test("is what a command prints, which gets each word as one argument", async () => {
    const command = script(showArguments, "--", "--key={owner}", "{tenant}/{owner}", "$(id); `id`");
    expect(JSON.parse((await read(command)) ?? "")).toEqual(["--key=human:alice", "acme/human:alice", "$(id); `id`"]);
  });

  for (const row of [
    { name: "a path upwards", tenant: "acme", user: "../../bob", words: ["acme", "human:..%2F..%2Fbob"] },
    { name: "the folder above", tenant: "..", user: "a", words: ["%2E.", "human:a"] },
    { name: "an option", tenant: "--all", user: "-a", words: ["%2D-all", "human:-a"] },
    { name: "a place of its own", tenant: "{owner}", user: "{tenant}", words: ["%7Bowner%7D", "human:%7Btenant%7D"] },
    { name: "an encoded name", tenant: "a%2Fb", user: "a", words: ["a%252Fb", "human:a"] },
    { name: "other scripts, a NUL and lines", tenant: "é", user: "a\0\n", words: ["%C3%A9", "human:a%00%0A"] },
  ]) {
    test(`is asked for with ${row.name} as plain words`, async () => {
      const command = script(showArguments, "--", "{tenant}", "{owner}");
      expect(JSON.parse((await read(command, of(row.tenant, row.user))) ?? "")).toEqual(row.words);
    });
  }

  test("is never found outside of its folder", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "acme"));
    writeFileSync(join(folder, "secret"), "another's");
    for (const [tenant, user] of [
      ["acme", "/../../secret"],
      ["..", "a"],
      ["../acme", "a"],
    ] as const) {
      expect(await failure({ file: join(folder, "acme", "{tenant}", "{owner}") }, of(tenant, user))).toContain(
        "ENOENT",
      );
    }
  });

  test("is printed by a command that gets of the host's variables its path alone", async () => {
    vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "hidden");
    const command = script("process.stdout.write(Object.keys(process.env).join())");
    expect(await read(command)).toBe("PATH");
  });
});

describe("there is no value, and none is quoted,", () => {
  const folder = (): string => temporaryFolder();
  for (const row of [
    {
      name: "without the file",
      secret: () => ({ file: "/nowhere/{owner}" }),
      says: "the file cannot be read (ENOENT)",
    },
    { name: "when the file is a folder", secret: () => ({ file: folder() }), says: "the file cannot be read (EISDIR)" },
    { name: "without the program", secret: () => ({ command: ["/nowhere"] }), says: "the command failed (ENOENT)" },
    {
      name: "when the command fails, whatever it says",
      secret: () => script('console.log("hidden"); console.error("hidden"); process.exit(3)'),
      says: "the command failed (exit code 3)",
    },
    {
      name: "when it says too much",
      secret: () => script('process.stdout.write("x".repeat(20000))'),
      says: "the command failed (ERR_CHILD_PROCESS_STDIO_MAXBUFFER)",
    },
    { name: "when it says nothing", secret: () => script(""), says: "the command gives what no header can hold" },
    {
      name: "when it says two lines",
      secret: () => script('console.log("hidden\\nhidden")'),
      says: "the command gives what no header can hold",
    },
    {
      name: "when it says what is no ASCII",
      secret: () => script('console.log("hidden é")'),
      says: "the command gives what no header can hold",
    },
  ]) {
    test(row.name, async () => {
      expect(await failure(row.secret())).toBe(`authorization: ${row.says}`);
    });
  }

  test("when the command takes too long, and it is ended", async () => {
    expect(await failure(script("setInterval(() => {}, 1000)"), of(), 300)).toBe(
      "authorization: the command took too long",
    );
  });

  test("when the file is a pipe without a writer", async () => {
    const pipe = join(temporaryFolder(), "pipe");
    await promisify(execFile)("mkfifo", [pipe]);
    expect(await failure({ file: pipe })).toBe("authorization: the file cannot be read (ESPIPE)");
  });

  test("when a name cannot be part of a path", async () => {
    expect(await failure({ file: "/keys/{owner}" }, of("acme", "\ud800"))).toContain("half of a character");
  });
});

describe("values", () => {
  const keyFile = () => {
    const file = join(temporaryFolder(), "key");
    writeFileSync(file, "one");
    let now = 0;
    const secrets = createHeaderSecrets(
      { "x-key": { file } },
      { namespaceId: "acme", owner: alice },
      { clock: () => now },
    );
    return { secrets, write: (text: string) => writeFileSync(file, text), pass: (ms: number) => void (now += ms) };
  };

  test("are read again after a minute", async () => {
    const { secrets, write, pass } = keyFile();
    expect(await secrets.read()).toEqual({ "x-key": "one" });
    write("two");
    pass(59_999);
    expect(await secrets.read()).toEqual({ "x-key": "one" });
    pass(1);
    expect(await secrets.read()).toEqual({ "x-key": "two" });
  });

  test("are read again at once after they could not be read", async () => {
    const { secrets, write } = keyFile();
    write("");
    await expect(secrets.read()).rejects.toThrow(HeaderSecretError);
    write("two");
    expect(await secrets.read()).toEqual({ "x-key": "two" });
  });

  async function serve(answer: (key: unknown) => { status: number; location?: string }): Promise<string> {
    const server: Server = createServer(({ headers }, outgoing) => {
      const { status, location } = answer(headers["x-key"]);
      outgoing.writeHead(status, location === undefined ? {} : { location }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  test("go with every request, and are read again after a 401, which is not sent again by itself", async () => {
    const { secrets, write } = keyFile();
    const seen: unknown[] = [];
    const url = await serve((key) => {
      seen.push(key);
      return { status: key === "two" ? 200 : 401 };
    });
    const send = fetchWith(secrets);
    await secrets.read();
    write("two");
    expect((await send(url, { headers: { "x-key": "of the request" } })).status).toBe(401);
    expect((await send(url)).status).toBe(200);
    expect(seen).toEqual(["one", "two"]);
  });

  test("do not go to where the server sends the request on to", async () => {
    const seen: unknown[] = [];
    const other = await serve((key) => {
      seen.push(key);
      return { status: 200 };
    });
    const url = await serve(() => ({ status: 307, location: other }));
    await expect(fetchWith(keyFile().secrets)(url)).rejects.toThrow("fetch failed");
    expect(seen).toEqual([]);
  });
});
