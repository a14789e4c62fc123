import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { findHost } from "./find-host.ts";

/** A configuration file of this content. */
function file(content: unknown): string {
  const path = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe("a host is found by the flag, then the variable, then the configuration file, then the default", () => {
  const listen = { port: 9001 };
  const rows: { name: string; url?: string; variable?: string; listen?: object; found: string; from: RegExp }[] = [
    { name: "all of them", url: "http://a", variable: "http://b", listen, found: "http://a", from: /^--url$/ },
    { name: "no flag", variable: "http://b", listen, found: "http://b", from: /^TURNPIKE_URL$/ },
    { name: "a file alone", listen, found: "http://127.0.0.1:9001", from: /turnpike\.config\.json$/ },
    { name: "an empty variable", variable: "", listen, found: "http://127.0.0.1:9001", from: /json$/ },
    { name: "nothing", found: "http://127.0.0.1:8787", from: /^the default$/ },
  ];
  for (const row of rows) {
    test(row.name, () => {
      const config = file(row.listen === undefined ? {} : { listen: row.listen });
      const env = row.variable === undefined ? {} : { TURNPIKE_URL: row.variable };
      const place = findHost({ url: row.url, config }, env);
      expect(place).toMatchObject({ url: row.found, urlFrom: expect.stringMatching(row.from) });
    });
  }
});

describe("the current context counts less than what is named, and more than what lies here", () => {
  const context = {
    url: "https://gate.test",
    kind: "operator",
    actor: "human:carol",
    credentialId: "0123456789abcdef",
    token: "tp_hidden",
    tenant: "acme",
  };
  const stored = { format: "turnpike-contexts/1", current: "gate", contexts: { gate: context } };
  const envOf = (variables: Record<string, string>): Record<string, string> => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "turnpike"), { mode: 0o700 });
    writeFileSync(join(folder, "turnpike", "contexts.json"), JSON.stringify(stored), { mode: 0o600 });
    return { XDG_CONFIG_HOME: folder, ...variables };
  };

  test("it is used when nothing is named", () => {
    const used = { ...context, name: "gate", isNamed: false };
    expect(findHost({}, envOf({}))).toMatchObject({ url: "https://gate.test", urlFrom: "context gate", context: used });
    expect(findHost({ context: "gate" }, envOf({ TURNPIKE_URL: "http://b" }))).toMatchObject({
      url: "https://gate.test",
      context: { isNamed: true },
    });
  });

  for (const { name, given = {}, variables = {} } of [
    { name: "--url", given: { url: "https://gate.test" } },
    { name: "--database", given: { database: "a.db" } },
    { name: "--config", given: { config: "" } },
    { name: "TURNPIKE_URL", variables: { TURNPIKE_URL: "https://gate.test" } },
    { name: "TURNPIKE_DATABASE", variables: { TURNPIKE_DATABASE: "a.db" } },
    { name: "TURNPIKE_LISTEN_PORT", variables: { TURNPIKE_LISTEN_PORT: "9000" } },
  ]) {
    test(`nothing of it is used with ${name}`, () => {
      const named = "config" in given ? { config: file({}) } : given;
      expect(findHost(named, envOf(variables)).context).toBeUndefined();
    });
  }
});

describe("a context that is named", () => {
  for (const given of [{ url: "https://gate.test" }, { database: "a.db" }, { config: "a.json" }]) {
    const [flag = ""] = Object.keys(given);
    test(`is not used together with --${flag}`, () => {
      const says = `--context gate: expected it or --${flag}, not both.`;
      expect(() => findHost({ context: "gate", ...given }, {})).toThrow(says);
    });
  }

  for (const name of ["constructor", "__proto__", "toString"])
    test(`is one that was made, and not ${name}`, () => {
      expect(() => findHost({ context: name }, { XDG_CONFIG_HOME: temporaryFolder() })).toThrow(
        `There is no context ${name}.`,
      );
    });
});

describe("what a host would be served with says where it listens", () => {
  const tls = { certFile: "cert.pem", keyFile: "key.pem" };
  const rows: { name: string; content: object; env?: Record<string, string>; url: string; from?: string }[] = [
    { name: "with TLS", content: { listen: { port: 8443 }, tls }, url: "https://127.0.0.1:8443" },
    { name: "on every address", content: { listen: { host: "0.0.0.0" } }, url: "http://127.0.0.1:8787" },
    { name: "on every address of IPv6", content: { listen: { host: "::" } }, url: "http://[::1]:8787" },
    { name: "on an address in brackets", content: { listen: { host: "[::1]", port: 1 } }, url: "http://[::1]:1" },
    { name: "on a name of this machine", content: { listen: { host: "localhost" } }, url: "http://localhost:8787" },
    {
      name: "with a variable over the file",
      content: { listen: { port: 1 } },
      env: { TURNPIKE_LISTEN_PORT: "2" },
      url: "http://127.0.0.1:2",
      from: "TURNPIKE_LISTEN_PORT",
    },
    {
      name: "with a service link of Kubernetes, which is no port",
      content: { listen: { port: 1 } },
      env: { TURNPIKE_LISTEN_PORT: "tcp://10.0.0.1:80" },
      url: "http://127.0.0.1:1",
    },
    {
      name: "at another address for clients",
      content: { publicUrl: "https://gate.test" },
      url: "http://127.0.0.1:8787",
    },
  ];
  for (const { name, content, env = {}, url, from } of rows) {
    test(name, () => {
      expect(findHost({ config: file(content) }, env)).toMatchObject({ url, ...(from && { urlFrom: from }) });
    });
  }
});

describe("the operator's token is read beside the database", () => {
  const rows: { name: string; given?: string; env?: Record<string, string>; content?: object; database: string }[] = [
    { name: "that a flag names", given: "a.db", env: { TURNPIKE_DATABASE: "b.db" }, database: "a.db" },
    {
      name: "that a variable names",
      env: { TURNPIKE_DATABASE: "b.db" },
      content: { database: "c.db" },
      database: "b.db",
    },
    { name: "of the configuration file", content: { database: "c.db" }, database: "c.db" },
    { name: "behind a pooler", content: { database: { url: "postgres://h/d" } }, database: "postgres://h/d" },
    { name: "that a variable names as its URL", env: { TURNPIKE_DATABASE_URL: "d.db" }, database: "d.db" },
    { name: "that is the default", database: ".turnpike/turnpike.db" },
  ];
  for (const { name, given, env = {}, content = {}, database } of rows) {
    test(name, () => {
      expect(findHost({ database: given, config: file(content) }, env).database).toBe(database);
    });
  }
});

describe("a configuration file never leads beyond this machine", () => {
  for (const host of ["evil.test", "203.0.113.7", "127.0.0.1.evil.test", "user@127.0.0.1"]) {
    test(`not to ${host}`, () => {
      expect(() => findHost({ config: file({ listen: { host, insecure: true } }) }, {})).toThrow(
        /listen\.host is not an address of this machine\. Name the host with --url or TURNPIKE_URL\.$/,
      );
    });
  }
});

describe("what does not say where a host listens is a mistake with its place", () => {
  for (const row of [
    { listen: { port: 0 }, says: ":1:19: listen.port is 0, which is any free port. Name the host with --url" },
    { listen: { port: "http" }, says: ":1:19: listen.port: found a text, expected a whole number from 1 to 65535." },
    { listen: { host: 5 }, says: ":1:19: listen.host: found a number, expected a text." },
  ]) {
    test(JSON.stringify(row.listen), () => {
      const config = file({ listen: row.listen });
      expect(() => findHost({ config }, {})).toThrow(`${config}${row.says}`);
      expect(findHost({ url: "http://a", config }, {}).url).toBe("http://a");
    });
  }

  test("an address in the variable that is none", () => {
    expect(() => findHost({ config: file({}) }, { TURNPIKE_URL: "nonsense" })).toThrow(
      "TURNPIKE_URL nonsense: expected an address such as http://127.0.0.1:8787.",
    );
  });

  for (const port of ["0x10", "1e3", " 80", "80 ", "+80", "", "65536", "-1"]) {
    test(`the port ${JSON.stringify(port)} in the variable`, () => {
      expect(() => findHost({ config: file({}) }, { TURNPIKE_LISTEN_PORT: port })).toThrow(
        /^TURNPIKE_LISTEN_PORT: found .*, expected a whole number from 1 to 65535\./,
      );
    });
  }

  test("a file that is not there", () => {
    expect(() => findHost({ url: "http://a", config: "/nothing/here.json" }, {})).toThrow(
      "/nothing/here.json does not exist.",
    );
  });
});
