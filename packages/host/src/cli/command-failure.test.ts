import { describe, expect, test } from "vitest";
import { ServiceClientError } from "turnpike/client";
import { ConfigError } from "../shared/config.ts";
import { AdminClientError } from "../admin-contract/admin-call.ts";
import { CommandError, failureJson, failureOf, failureText, misuseOf } from "./command-failure.ts";

const place = {
  url: "http://127.0.0.1:2",
  urlFrom: "TURNPIKE_URL",
  database: "x.db",
  isUrlGiven: false,
  isDatabaseGiven: false,
};

function unreachable(code: string): AdminClientError {
  const cause = new TypeError("fetch failed", { cause: Object.assign(new Error("inner"), { code }) });
  return new AdminClientError("unreachable", "No host answers.", { cause });
}

describe("a failure says what happened and what to do, and has a code for scripts", () => {
  for (const row of [
    {
      name: "a value that a flag does not take",
      error: new ConfigError("--limit x: expected a whole number from 1."),
      text: "--limit x: expected a whole number from 1.",
      json: { code: "invalid_usage", message: "--limit x: expected a whole number from 1." },
      exitCode: 2,
    },
    {
      name: "a mistake in the configuration",
      error: new ConfigError("a.json does not exist.", { code: "invalid_config" }),
      text: "a.json does not exist.",
      json: { code: "invalid_config", message: "a.json does not exist." },
      exitCode: 2,
    },
    {
      name: "a host that is away",
      error: unreachable("ECONNREFUSED"),
      text: "No host answers at http://127.0.0.1:2 (TURNPIKE_URL). Start one with: turnpike serve",
      json: {
        code: "unreachable",
        message: "No host answers at http://127.0.0.1:2 (TURNPIKE_URL). Start one with: turnpike serve",
      },
      exitCode: 1,
    },
    {
      name: "a refusal with a JSON pointer",
      error: new AdminClientError(
        "invalid_request",
        "Refused (invalid_request): /ask: expected a hash; /constraints/maxUses: expected 1 or more",
      ),
      text: "Refused (invalid_request): --ask: expected a hash; --uses: expected 1 or more",
      json: { code: "invalid_request", message: "--ask: expected a hash; --uses: expected 1 or more" },
      exitCode: 1,
    },
    {
      name: "a refusal with a field that has no flag",
      error: new CommandError("conflict", "Refused (conflict): /update/enable/0: expected less.\nLook again."),
      text: "Refused (conflict): namespaces: expected less.\nLook again.",
      json: { code: "conflict", message: "namespaces: expected less. Look again." },
      exitCode: 1,
    },
    {
      name: "a token that is unknown",
      error: new ServiceClientError("Send a valid credential.", { status: 401, code: "unauthenticated" }),
      text: "Refused (unauthenticated): Send a valid credential.\nThe token is unknown, expired or revoked.",
      json: {
        code: "unauthenticated",
        message: "Send a valid credential. The token is unknown, expired or revoked.",
      },
      exitCode: 1,
    },
    {
      name: "anything else",
      error: new Error("There is nothing to accept."),
      text: "There is nothing to accept.",
      json: { code: "failed", message: "There is nothing to accept." },
      exitCode: 1,
    },
  ]) {
    test(row.name, () => {
      const failure = failureOf(row.error, place);
      expect(failure).toMatchObject({ message: row.text, exitCode: row.exitCode });
      expect(failureJson(failure)).not.toContain("\n");
      expect(JSON.parse(failureJson(failure))).toEqual({ error: row.json });
    });
  }
});

describe("a command line that is not understood", () => {
  const exit = (code: string, message: string) => Object.assign(new Error(message), { code, exitCode: 1 });
  for (const row of [
    {
      name: "an unknown flag",
      error: exit("commander.unknownOption", "error: unknown option '--nmae'\n(Did you mean --name?)"),
      text: "error: unknown option '--nmae'\n(Did you mean --name?)",
    },
    {
      name: "a flag that is missing",
      error: exit("commander.missingMandatoryOptionValue", "error: required option '--tenant <id>' not specified"),
      text: "error: required option '--tenant <id>' not specified",
    },
    {
      name: "a flag that is missing because it is mistyped",
      error: exit("commander.missingMandatoryOptionValue", "error: required option '--tenant <id>' not specified"),
      args: ["grant", "list", "--tennant=acme"],
      text: "error: unknown option '--tennant'\n(Did you mean --tenant?)",
    },
    {
      name: "a flag that is missing, beside one that is like it",
      error: exit("commander.missingMandatoryOptionValue", "error: required option '--tenant <id>' not specified"),
      args: ["turn", "list", "--tenants"],
      text: "error: required option '--tenant <id>' not specified",
    },
    {
      name: "a word that is missing",
      error: exit("commander.help", "(outputHelp)"),
      text: "expected a command",
    },
  ]) {
    test(row.name, () => {
      expect(misuseOf(row.error, row.args ?? ["grant"], ["--tenant", "--tenants"])).toEqual({
        code: "invalid_usage",
        message: `${row.text}\nAdd --help to see how it is used.`,
        exitCode: 2,
      });
    });
  }
});

describe("why no host answers says what to do", () => {
  for (const row of [
    { code: "ENOTFOUND", says: "No machine of this name was found." },
    { code: "DEPTH_ZERO_SELF_SIGNED_CERT", says: "NODE_EXTRA_CA_CERTS" },
    { code: "ERR_TLS_CERT_ALTNAME_INVALID", says: "name the host with --url as its certificate does" },
    { code: "ERR_SSL_WRONG_VERSION_NUMBER", says: "try https instead of http, or the other way round" },
  ]) {
    test(row.code, () => {
      expect(failureOf(unreachable(row.code), place).message).toContain(row.says);
    });
  }
});

test("a failure that quotes a foreign file or host cannot control the terminal", () => {
  const refused = new AdminClientError("conflict", "\u001b[2J\u202eno\rDone.\nLook again.");
  expect(failureText(failureOf(refused, place))).toBe("<U+001B>[2J<U+202E>no Done.\nLook again.");
});
