import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { addContextTenants, giveTenant } from "./context-tenant.ts";
import { addCredentialCommands } from "./credential-commands.ts";
import { addGrantCommands } from "./grant-commands.ts";
import { addLoginCommands } from "./login-commands.ts";

/** The tenant that a command has by itself when the current context has one. */
function tenantOf(path: string, context: string | undefined, args: readonly string[] = []): unknown {
  const program = new Command("turnpike");
  for (const add of [addCredentialCommands, addGrantCommands, addLoginCommands]) add(program, () => {});
  addContextTenants(program);
  let command: Command | undefined = program;
  for (const name of path.split(" ")) command = command?.commands.find((one) => one.name() === name);
  if (command === undefined) throw new Error(`There is no command ${path}.`);
  command.parseOptions([...args]);
  giveTenant(command.exitOverride().configureOutput({ writeErr() {} }), context);
  return command.opts()["tenant"];
}

describe("the tenant of a context", () => {
  for (const path of ["grant list", "grant create", "grant export", "credential create", "credential list"])
    test(`is that of ${path}, which is given none`, () => {
      expect(tenantOf(path, "acme")).toBe("acme");
      expect(tenantOf(path, "acme", ["--tenant", "globex"])).toBe("globex");
    });

  for (const path of ["credential operator", "grant apply", "grant import", "login"])
    test(`is never that of ${path}`, () => {
      expect(tenantOf(path, "acme")).toBeUndefined();
      expect(tenantOf(path, "acme", ["--tenant", "globex"])).toBe("globex");
    });

  test("is left with --all-tenants, which says the opposite of --tenant", () => {
    expect(tenantOf("credential list", "acme", ["--all-tenants"])).toBeUndefined();
    expect(() => tenantOf("credential list", "acme", ["--all-tenants", "--tenant", "globex"])).toThrow("not both");
  });

  test("is missed by a command that needs one and has no context", () => {
    expect(() => tenantOf("grant export", undefined)).toThrow("required option '--tenant <id>' not specified");
  });
});
