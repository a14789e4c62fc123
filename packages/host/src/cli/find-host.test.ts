import { writeFileSync } from "node:fs";
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

describe("the operator's token is looked for beside the database", () => {
  const rows: { name: string; given?: string; env?: Record<string, string>; content?: object; database: string }[] = [
    { name: "that a flag names", given: "a.db", env: { TURNPIKE_DATABASE: "b.db" }, database: "a.db" },
    {
      name: "that a variable names",
      env: { TURNPIKE_DATABASE: "b.db" },
      content: { database: "c.db" },
      database: "b.db",
    },
    { name: "of the configuration file", content: { database: "c.db" }, database: "c.db" },
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

  test("a file that is not there", () => {
    expect(() => findHost({ url: "http://a", config: "/nothing/here.json" }, {})).toThrow(
      "/nothing/here.json does not exist.",
    );
  });
});
