import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { ConfigError } from "../shared/config.ts";
import { loadConfig } from "../compose/config.ts";

const jwt = { jwks: "keys.json", issuer: "https://id.example", audience: "turnpike" };

function load(changes: object): ReturnType<typeof loadConfig>["jwt"] {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, JSON.stringify({ jwt: { ...jwt, ...changes } }));
  return loadConfig({ file, env: {}, flags: {} }).jwt;
}

test("unless configured otherwise, common claims say who acts, where and what for", () => {
  expect(load({})?.claims).toEqual({ tenant: "tenant", actor: "sub", purposes: "scope" });
});

describe("a key set is taken from", () => {
  for (const jwks of [
    "keys.json",
    "/etc/turnpike/keys.json",
    "/etc/turnpike/https:id.example.json",
    "https://id.example/jwks.json",
    "HTTPS://id.example/jwks.json",
    "http://127.0.0.1:8080/jwks.json",
    "http://[::1]/jwks.json",
    "http://localhost/jwks.json",
  ]) {
    test(jwks, () => {
      expect(load({ jwks })?.jwks).toBe(jwks);
    });
  }
});

describe("a key set is not taken from", () => {
  for (const jwks of [
    "http://id.example/jwks.json",
    "HTTP://id.example/jwks.json",
    "http:id.example/jwks.json",
    "http://127.0.0.1.example/jwks.json",
    "http://127.0.0.1@id.example/jwks.json",
    "http://10.0.0.1/jwks.json",
    "https://user:hidden@id.example/jwks.json",
    "https://",
  ]) {
    test(jwks, () => {
      expect(() => load({ jwks })).toThrow(ConfigError);
      expect(() => load({ jwks })).toThrow("expected a file, or an https URL without user and password");
      expect(() => load({ jwks })).not.toThrow("hidden");
    });
  }
});

const everyAlgorithm = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

test("every signature with a key of its own can be configured", () => {
  expect(load({ algorithms: everyAlgorithm })?.algorithms).toEqual(everyAlgorithm);
});

for (const algorithm of ["none", "NONE", "None", "HS256", "hs256", "HS384", "HS512", "dir", "A256KW", "rs256", ""]) {
  test(`${JSON.stringify(algorithm)} cannot be configured as a signature, also beside good ones`, () => {
    expect(() => load({ algorithms: ["RS256", algorithm] })).toThrow(
      `jwt.algorithms.1: found ${JSON.stringify(algorithm)}, expected "RS256" or "RS384"`,
    );
  });
}

for (const key of ["algorithms", "types"]) {
  test(`an empty list of ${key} is a mistake: no token would fit it`, () => {
    expect(() => load({ [key]: [] })).toThrow(`jwt.${key}: found a list, expected 1 or more elements`);
  });
}
