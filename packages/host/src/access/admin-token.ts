import { type CredentialRecord, operatorsTenant } from "../admin-contract/index.ts";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { principalKey } from "turnpike/contracts";
import { adminTokenFile, writePrivateFile } from "../shared/index.ts";
import type { DatabaseSettings } from "../storage/index.ts";
import type { CredentialStore } from "./credential-store.ts";
import { createOperator, isAdminOfAll, operatorScope, type Operator } from "./operator.ts";
import { freshId } from "./secrets.ts";
import type { AuditSink } from "turnpike/kernel";

const operator = { kind: "service", serviceId: "operator" } as const;
const host = { kind: "service", serviceId: "host" } as const;

/** Where an operator finds their token after a start. */
export type OperatorToken =
  | { kind: "in file"; file: string }
  /** It was made at this start and is stored nowhere, so it is shown only now. */
  | { kind: "shown once"; token: string; removedFile?: string }
  | { kind: "shown before" };

/**
 * Makes the operator's credential, an admin's of all tenants, at the first start, whenever the token in the file is no longer
 * that of one, and when a new one is wanted, which replaces those that the host made before. Without a token file only its
 * hash is stored.
 */
export async function ensureAdminToken(
  stores: { credentials: CredentialStore; audit: AuditSink },
  config: { database: DatabaseSettings; admin: { tokenFile: boolean } },
  { isNewWanted = false }: { isNewWanted?: boolean } = {},
): Promise<OperatorToken> {
  const { credentials, audit } = stores;
  const file = adminTokenFile(config.database);
  const inFile = await credentials.verify(existsSync(file) ? readFileSync(file, "utf8").trim() : "", new Date());
  const isInFile = inFile !== undefined && isAdminOfAll(operatorScope(inFile.access));
  const who = { id: "host", actor: host, role: "admin", requestId: crypto.randomUUID() } as const;
  const self = createOperator(who, audit, () => {});

  if (config.admin.tokenFile) {
    if (isInFile && !isNewWanted) chmodSync(file, 0o600);
    else
      writePrivateFile(
        file,
        `${await replaceToken(credentials, self, isNewWanted ? await ownTokens(credentials) : [])}\n`,
      );
    return { kind: "in file", file };
  }
  // The file may hold the token of another database in the same folder. This host must not remove that one.
  const isKnown = !isInFile && (await validAdmins(credentials)).length > 0;
  if (isKnown && !isNewWanted) return { kind: "shown before" };
  // Any user who can read the folder may have read the token in the file, so it is revoked too.
  const before = new Set([...(isNewWanted ? await ownTokens(credentials) : []), ...(isInFile ? [inFile.id] : [])]);
  const token = await replaceToken(credentials, self, [...before]);
  if (isInFile) rmSync(file);
  return { kind: "shown once", token, ...(isInFile && { removedFile: file }) };
}

/** Makes a token, and then revokes those that it replaces. */
async function replaceToken(
  credentials: CredentialStore,
  self: Operator,
  replaced: readonly string[],
): Promise<string> {
  const access = { actor: operator, owner: operator, purposes: ["operate"], admin: true };
  const id = freshId();
  const change = { namespaceId: operatorsTenant, receiver: operator };
  const made = { ...change, action: "credential.create", metadata: { credential: id, isOperator: true } };
  const { token } = await self.change(made, () => credentials.create({ id, namespaceId: operatorsTenant, access }));
  for (const credential of replaced) {
    const revoked = { ...change, action: "credential.revoke", metadata: { credential } };
    await self.change(revoked, () => credentials.revoke(credential, new Date().toISOString()));
  }
  return token;
}

/** The valid tokens that a host made, not those that an operator made. */
async function ownTokens(credentials: CredentialStore): Promise<string[]> {
  const own = (await validAdmins(credentials)).filter(
    ({ access }) => principalKey(access.actor) === principalKey(operator),
  );
  return own.map(({ id }) => id);
}

async function validAdmins(credentials: CredentialStore): Promise<CredentialRecord[]> {
  const all: CredentialRecord[] = [];
  const limit = 100;
  let page: CredentialRecord[];
  do {
    page = await credentials.list({ namespaceId: operatorsTenant, after: all.at(-1)?.id, limit });
    all.push(...page);
  } while (page.length === limit);
  return all.filter(({ access, expiresAt, revokedAt }) => {
    const isOver = revokedAt !== undefined || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now());
    return isAdminOfAll(operatorScope(access)) && access.signedIn !== true && !isOver;
  });
}
