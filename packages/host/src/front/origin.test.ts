import { describe, expect, test } from "vitest";
import { PublicUrlSchema } from "./front-settings.ts";
import { createOriginOf } from "./origin.ts";

describe("the origin of a request", () => {
  for (const row of [
    { name: "is the host that it was sent to", host: "gate.example", origin: "http://gate.example" },
    { name: "has the port, if it is a special one", host: "127.0.0.1:8787", origin: "http://127.0.0.1:8787" },
    { name: "leaves out the usual port", host: "gate.example:80", origin: "http://gate.example" },
    { name: "may be a number of IPv6", host: "[::1]:8787", origin: "http://[::1]:8787" },
    { name: "is written in small letters", host: "Gate.Example", origin: "http://gate.example" },
  ]) {
    test(row.name, () => {
      expect(createOriginOf({})(new Headers({ host: row.host }))).toBe(row.origin);
    });
  }

  test("is https where the host itself has a certificate", () => {
    expect(createOriginOf({ tls: {} })(new Headers({ host: "gate.example" }))).toBe("https://gate.example");
  });

  test("is the configured one, whatever was sent", () => {
    const originOf = createOriginOf({ publicUrl: "https://gate.example/" });
    expect(originOf(new Headers({ host: "evil.example" }))).toBe("https://gate.example");
  });

  test("believes no header of a proxy", () => {
    const headers = new Headers({ host: "gate.example", "x-forwarded-proto": "https", "x-forwarded-host": "evil" });
    expect(createOriginOf({})(headers)).toBe("http://gate.example");
  });

  for (const host of [
    "",
    "evil@gate.example",
    "gate.example/x",
    "gate.example?x",
    "a b",
    "gate.example:99999",
    "[::1",
    '"',
  ]) {
    test(`is refused for the host ${JSON.stringify(host)}`, () => {
      expect(() => createOriginOf({})(new Headers({ host }))).toThrow(/expected the name of this host/);
    });
  }
});

for (const url of ["gate.example", "https://gate.example/path", "https://a@gate.example", "ftp://gate.example"]) {
  test(`${url} is no public URL`, () => {
    expect(PublicUrlSchema.safeParse(url).success).toBe(false);
  });
}
