import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStoredNotices } from "./stored-notices.ts";
import { envelope } from "../counting-api.ts";
import { newTenant } from "../databases.ts";
import { access, alice, assistant, auditEvent, context, grant, neverAborted } from "../records.ts";
import { presentedBy } from "../../src/access/credential-writes.ts";
import type { PresentedCredential } from "../../src/access/credential-writes.ts";
import { openSigningKey, type SigningKey } from "../../src/audit/signing-key.ts";
import { openStores, type Stores } from "../../src/compose/stores.ts";
import type { ReplayKey } from "../../src/ledger/replay-store.ts";
import type { Database } from "../../src/storage/database.ts";

/** What a tenant has before the operation under test. */
export interface Seed {
  tenant: string;
  /** A tenant that has nothing, and whose name no other test uses. */
  emptyTenant: string;
  credential: { id: string; token: string };
  presented: PresentedCredential;
}

/** An operation, which can be run again: as a caller who was refused does. */
export type Run = () => Promise<unknown>;

/** Does what comes before the operation, which does not fail, and returns the operation. */
export type Operation = (stores: Stores, seed: Seed, database: Database) => Run | Promise<Run>;

/** Operations by the methods that they call: `store.method`, and behind a comma what is special about one. */
export type Operations = Readonly<Record<string, Operation>>;

/** The stores as a host opens them: what happens is told to a webhook, in the transaction in which it happens. */
export function openAllStores(database: Database): Stores {
  return openStores(database, { ...createStoredNotices(), approvals: 1 });
}

export const future = "2999-01-01T00:00:00.000Z";

export function mine(namespaceId: string) {
  return { namespaceId, owner: alice };
}

export function inboxOf(namespaceId: string) {
  return { namespaceId, receiver: alice };
}

export function replayKey(namespaceId: string, id: string): ReplayKey {
  return { namespaceId, actor: "agent:assistant", kind: "tool", scope: "trace-1", id };
}

let key: SigningKey | undefined;

/** A key that signs audit exports, one for all tests of a file. */
export function signingKey(): SigningKey {
  if (key !== undefined) return key;
  const folder = mkdtempSync(join(tmpdir(), "turnpike-key-"));
  try {
    return (key = openSigningKey(join(folder, "key.pem")));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function seed(database: Database): Promise<Seed> {
  const stores = openAllStores(database);
  const tenant = newTenant();
  const issue = async (): Promise<void> => {
    await stores.grants.issue(grant("seeded", { namespaceId: tenant }));
    await stores.grants.issue(grant("child", { namespaceId: tenant, parentId: "seeded", issuer: assistant }));
  };
  const claim = async (): Promise<void> => {
    await Promise.all(["running", "finished"].map((id) => stores.replay.begin(replayKey(tenant, id), "one")));
    await stores.replay.finish(replayKey(tenant, "finished"), { ok: true });
  };
  // At once, because tests ask for it thousands of times.
  const [credential] = await Promise.all([
    stores.credentials.create({ namespaceId: tenant, access }),
    issue(),
    claim(),
    stores.usage.consume(tenant, "seeded", 3),
    stores.settings.applyUpdate(context({ namespaceId: tenant }), { enable: ["seeded"] }, neverAborted),
    stores.audit.record(auditEvent("seeded", { namespaceId: tenant })),
    stores.files.write(mine(tenant), ["seeded"], "seeded words"),
    stores.messages.deliver(envelope, tenant, "2026-01-01T12:00:00.000Z"),
    stores.mcpPins.pin(tenant, [{ tool: "seeded", hash: "one", definition: "{}" }], "operator-1"),
  ]);
  return { tenant, emptyTenant: `${tenant}-empty`, credential, presented: presentedBy(credential.token) };
}
