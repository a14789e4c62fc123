import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../config.ts";
import { isPostgres } from "../database/location.ts";
import { freshCredentialId, operatorsTenant } from "../stores/credential-store.ts";
import { createOperator } from "./operator.ts";
import type { Stores } from "../stores/stores.ts";

const operator = { kind: "service", serviceId: "operator" } as const;
const host = { kind: "service", serviceId: "host" } as const;

/** The folder beside the database where the host keeps what only its owner may read. */
export function dataFolder({ database }: Pick<Config, "database">): string {
  return isPostgres(database) ? ".turnpike" : dirname(database);
}

/** Where the operator's token is kept. */
export function adminTokenFile(config: Pick<Config, "database">): string {
  return join(dataFolder(config), "admin-token");
}

/** Makes the operator's credential at the first start, and whenever the kept token is not an operator's any more. */
export async function ensureAdminToken({ credentials, audit }: Stores, config: Config): Promise<void> {
  const file = adminTokenFile(config);
  const kept = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  const known = await credentials.verify(kept, new Date());
  if (known?.access.admin === true) return chmodSync(file, 0o600);
  const access = { actor: operator, owner: operator, purposes: ["operate"], admin: true };
  const id = freshCredentialId();
  const self = createOperator({ id: "host", actor: host, requestId: crypto.randomUUID() }, audit, () => {});
  const change = { namespaceId: operatorsTenant, action: "credential.create", receiver: operator };
  const { token } = await self.change({ ...change, metadata: { credential: id, isOperator: true } }, () =>
    credentials.create({ id, namespaceId: operatorsTenant, access }),
  );
  writePrivate(file, `${token}\n`);
}

/** Writes a file for its owner's eyes alone, also when it was there before with other permissions. */
export function writePrivate(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, "", { mode: 0o600 });
  chmodSync(file, 0o600);
  writeFileSync(file, text);
}
