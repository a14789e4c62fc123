import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import type { PrincipalRef } from "turnpike/contracts";
import { adminPaths } from "../admin/admin-handler.ts";
import { ConfigError } from "../config.ts";
import { parsePrincipal } from "../stores/credential-store.ts";
import { adminPost, type AdminConnection } from "./admin-client.ts";

interface CredentialFlags extends AdminConnection {
  tenant: string;
  actor: string;
  owner?: string;
  authority?: string;
  purpose: string[];
  json?: boolean;
}

interface GrantFlags extends AdminConnection {
  tenant: string;
  to: string;
  from: string;
  resource: string;
  action: string[];
  exact?: boolean;
  id?: string;
  json?: boolean;
}

/** `credential` and `grant`: what an empty installation needs first, and how to take it back. */
export function addAccessCommands(program: Command, print: (text: string) => void): void {
  const credentials = program.command("credential").description("Make and revoke credentials.").exitOverride();
  withConnection(credentials.command("create"))
    .description(
      "Make a credential. Example: turnpike credential create --tenant acme --actor agent:assistant --owner human:alice --authority human:alice --purpose support",
    )
    .requiredOption("--tenant <id>", "the tenant it belongs to")
    .requiredOption("--actor <kind:id>", "who acts with it")
    .option("--owner <kind:id>", "whose resources are in scope; the actor unless given")
    .option("--authority <kind:id>", "whose grants are exercised; the owner unless given")
    .requiredOption("--purpose <purposes...>", "what it may be used for; the first is the default")
    .action(async (flags: CredentialFlags) => {
      const actor = principal("--actor", flags.actor);
      const owner = flags.owner === undefined ? actor : principal("--owner", flags.owner);
      const authority = flags.authority === undefined ? owner : principal("--authority", flags.authority);
      const access = { actor, owner, authority, purposes: flags.purpose };
      const made = (await adminPost(flags, adminPaths.credentials, { namespaceId: flags.tenant, access })) as {
        token: string;
      };
      print(flags.json === true ? JSON.stringify(made, null, 2) : `The token, shown this once:\n${made.token}`);
    });
  const grants = program.command("grant").description("Issue and revoke grants.").exitOverride();
  withConnection(grants.command("create"))
    .description(
      "Issue a grant. Example: turnpike grant create --tenant acme --to agent:assistant --from human:alice --resource files/notes --action read",
    )
    .requiredOption("--tenant <id>", "the tenant it is good in")
    .requiredOption("--to <kind:id>", "who may act")
    .requiredOption("--from <kind:id>", "who grants it")
    .requiredOption("--resource <namespace/path>", "where, such as files/notes")
    .requiredOption("--action <actions...>", "what may be done there")
    .option("--exact", "only this path, not what is below it")
    .option("--id <id>", "the grant's id; a fresh one unless given")
    .action(async (flags: GrantFlags) => {
      const [namespace = "", ...path] = flags.resource.split("/");
      const grant = {
        id: flags.id ?? `grant-${randomBytes(6).toString("hex")}`,
        namespaceId: flags.tenant,
        subject: principal("--to", flags.to),
        issuer: principal("--from", flags.from),
        capabilities: [
          {
            resource: { namespace, path },
            actions: flags.action,
            scope: flags.exact === true ? "exact" : "descendants",
          },
        ],
        constraints: {},
        issuedAt: new Date().toISOString(),
      };
      const issued = await adminPost(flags, adminPaths.grants, grant);
      print(flags.json === true ? JSON.stringify(issued, null, 2) : `Issued ${grant.id}.`);
    });
  withConnection(credentials.command("revoke"))
    .description("Revoke a credential, from the next request on. Example: turnpike credential revoke 0123456789abcdef")
    .argument("<id>", "the part of the token between tp_ and the second _")
    .action(async (id: string, flags: AdminConnection & { json?: boolean }) => {
      const done = await adminPost(flags, adminPaths.revokeCredential, { id });
      print(flags.json === true ? JSON.stringify(done, null, 2) : `Revoked ${id}.`);
    });
  withConnection(grants.command("revoke"))
    .description("Revoke a grant, from the next call on. Example: turnpike grant revoke grant-1 --tenant acme")
    .argument("<id>", "the grant's id")
    .requiredOption("--tenant <id>", "the tenant it is good in")
    .action(async (id: string, flags: AdminConnection & { tenant: string; json?: boolean }) => {
      const done = await adminPost(flags, adminPaths.revokeGrant, { namespaceId: flags.tenant, id });
      print(flags.json === true ? JSON.stringify(done, null, 2) : `Revoked ${id}.`);
    });
}

function withConnection(command: Command): Command {
  return command
    .option("--url <url>", "the host to talk to", "http://127.0.0.1:8787")
    .option(
      "--database <location>",
      "the host's database, beside which its operator's token is kept",
      ".turnpike/turnpike.db",
    )
    .option("--json", "print JSON")
    .exitOverride();
}

function principal(flag: string, text: string): PrincipalRef {
  const parsed = parsePrincipal(text);
  if (parsed === undefined)
    throw new ConfigError(`${flag} ${text}: expected kind:id, such as human:alice or agent:assistant.`);
  return parsed;
}
