import { describe, expect, test } from "vitest";
import { ConfigError } from "../shared/config.ts";
import { databaseError, startError } from "./start-error.ts";

const failing = (facts: object, message = "inner"): Error => Object.assign(new Error(message), facts);
const listen = { host: "127.0.0.1", port: 80, insecure: false };
const tls = {
  certFile: "cert.pem",
  keyFile: "key.pem",
  clientCaFile: "people.pem",
  clientCertificates: "optional",
} as const;
const config = { listen, database: "data/turnpike.db", tls };

describe("a host that cannot start says why in one sentence, and which setting to correct", () => {
  for (const row of [
    {
      error: failing({ code: "EADDRINUSE", syscall: "listen" }),
      says: "127.0.0.1:80 is in use: another process listens there. Stop it, or choose another port with listen.port (--port, TURNPIKE_LISTEN_PORT).",
    },
    {
      error: failing({ code: "EACCES", syscall: "listen" }),
      says: "This user may not listen on port 80. Choose one from 1024 on with listen.port (--port, TURNPIKE_LISTEN_PORT).",
    },
    {
      error: failing({ code: "EADDRNOTAVAIL", syscall: "listen" }),
      says: "127.0.0.1 is not an address of this machine. Choose one with listen.host (--host, TURNPIKE_LISTEN_HOST).",
    },
    {
      error: failing({ code: "ENOTFOUND", syscall: "getaddrinfo" }),
      says: "127.0.0.1 is not the name of an address. Choose one with listen.host (--host, TURNPIKE_LISTEN_HOST).",
    },
    {
      error: failing({ code: "EACCES", syscall: "open", path: "data/admin-token" }),
      says: "data/admin-token cannot be written (EACCES): the host keeps it beside its database. The setting is database (--database, TURNPIKE_DATABASE).",
    },
  ]) {
    test(row.says, () => {
      expect(startError(row.error, config)).toEqual(new Error(row.says));
    });
  }

  for (const row of [
    {
      error: failing({ code: "ENOENT", syscall: "open", path: "cert.pem" }),
      says: "tls.certFile (TURNPIKE_TLS_CERT_FILE): cert.pem does not exist.",
    },
    {
      error: failing({ code: "EACCES", syscall: "open", path: "key.pem" }),
      says: "tls.keyFile (TURNPIKE_TLS_KEY_FILE): key.pem cannot be read by this user.",
    },
    {
      error: failing({ code: "EISDIR", syscall: "open", path: "people.pem" }),
      says: "tls.clientCaFile (TURNPIKE_TLS_CLIENT_CA_FILE): people.pem is a folder, expected a file.",
    },
    {
      error: failing({ code: "ERR_OSSL_PEM_NO_START_LINE" }),
      says: "tls.certFile (TURNPIKE_TLS_CERT_FILE) and tls.keyFile (TURNPIKE_TLS_KEY_FILE): cert.pem and key.pem are not a certificate and its private key in PEM (ERR_OSSL_PEM_NO_START_LINE).",
    },
  ]) {
    test(row.says, () => {
      const explained = startError(row.error, config);
      expect(explained).toBeInstanceOf(ConfigError);
      expect(explained).toMatchObject({ message: row.says, code: "invalid_config" });
    });
  }

  test("what is no setting is left as it is", () => {
    const error = failing({ code: "EOTHER" });
    expect(startError(error, config)).toBe(error);
    expect(databaseError(error, config)).toBe(error);
  });
});

describe("a database that cannot be opened is said with its setting, and without its password", () => {
  const setting = " The setting is database (--database, TURNPIKE_DATABASE).";
  const url = "postgres://me:hunter2@db.test/gate?password=hunter2";
  for (const row of [
    {
      error: failing({ code: "ECONNREFUSED" }),
      says: "does not answer: nothing listens there. Start it, or correct the address (ECONNREFUSED).",
    },
    { error: failing({ code: "ENOTFOUND" }), says: "was not found: there is no machine of this name (ENOTFOUND)." },
    { error: failing({ code: "28P01" }), says: "refused the password (28P01)." },
    { error: failing({ code: "28000" }), says: "does not let this user in (28000)." },
    { error: failing({ code: "3D000" }), says: "has no such database. Create it (3D000)." },
    {
      error: failing({ code: "3F000" }),
      says: "has no schema for tables: search_path names none that exists. Create the schema, or correct search_path (3F000).",
    },
    { error: failing({}, "Connection terminated due to connection timeout"), says: "does not answer in time." },
    {
      error: failing({}, "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"),
      says: "wants a password, and none was given.",
    },
  ]) {
    test(`PostgreSQL ${row.says}`, () => {
      expect(databaseError(row.error, { database: url })).toEqual(
        new Error(`PostgreSQL at db.test:5432/gate ${row.says}${setting}`),
      );
    });
  }

  for (const row of [
    {
      error: failing({ code: "EACCES", syscall: "mkdir", path: "data" }),
      says: "The database data/turnpike.db cannot be made: data cannot be written (EACCES).",
    },
    {
      error: new Error("outer", { cause: failing({ code: "SQLITE_BUSY" }) }),
      says: "The database data/turnpike.db is in use by another process. Stop it, or name another file.",
    },
    {
      error: new Error("outer", { cause: failing({ code: "SQLITE_NOTADB" }) }),
      says: "data/turnpike.db is not an SQLite database. Name another file.",
    },
    {
      error: new Error("outer", { cause: failing({ code: "SQLITE_CANTOPEN" }) }),
      says: "The database data/turnpike.db cannot be written by this user.",
    },
  ]) {
    test(`SQLite: ${row.says}`, () => {
      expect(databaseError(row.error, config)).toEqual(new Error(`${row.says}${setting}`));
    });
  }
});
