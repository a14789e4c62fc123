import type { CredentialAccess } from "../admin-contract/index.ts";
import { existsSync, readFileSync } from "node:fs";
import { principalId, type Capability, type Grant, type PrincipalRef } from "turnpike/contracts";
import type { CredentialStore } from "../access/index.ts";
import { writePrivateFile } from "../shared/index.ts";
import type { FileStore } from "../files/index.ts";
import type { GrantStore } from "../grants/index.ts";
import type { NamespaceSettingsStore } from "../tool-namespaces/index.ts";

/** The stores that the demo fills. */
interface Stores {
  credentials: CredentialStore;
  files: FileStore;
  grants: GrantStore;
  settings: NamespaceSettingsStore;
}

/** The tokens of the demo. They are stored beside its database, so that a restart shows the same ones. */
export interface DemoTokens {
  alice: string;
  assistant: string;
}

const tenant = "demo";
const alice: PrincipalRef = { kind: "human", userId: "alice" };
const bob: PrincipalRef = { kind: "human", userId: "bob" };
const assistant: PrincipalRef = { kind: "agent", agentId: "assistant" };

const files: Record<string, string> = {
  "notes/todo.md": "- water the plants\n- call Bob\n",
  "notes/ideas.md": "A gate that every agent passes.\n",
  "private/diary.md": "Nobody but Alice reads this.\n",
};

const mayRun: Capability = {
  resource: { namespace: "service.execution", path: ["agent", "assistant"] },
  actions: ["invoke"],
  scope: "exact",
};
const mayEscalate: Capability = {
  resource: { namespace: "service", path: ["escalation"] },
  actions: ["request"],
  scope: "exact",
};

/** The capability to send to a principal, or to read their inbox. */
function messaging(action: "send" | "receive", whose: PrincipalRef): Capability {
  const path = [whose.kind, principalId(whose)];
  return { resource: { namespace: "service.messaging", path }, actions: [action], scope: "exact" };
}

function under(path: string[], actions: string[]): Capability {
  return { resource: { namespace: "files", path }, actions, scope: "descendants" };
}

/** Each payment needs Alice's approval. */
const mayPay: Capability = {
  resource: { namespace: "payments", path: [] },
  actions: ["pay"],
  scope: "descendants",
  approval: "each",
};

const grants: readonly Pick<Grant, "id" | "subject" | "capabilities">[] = [
  { id: "alice-files", subject: alice, capabilities: [under([], ["*"])] },
  { id: "alice-messages", subject: alice, capabilities: [messaging("receive", alice), messaging("send", assistant)] },
  { id: "assistant-notes", subject: assistant, capabilities: [under(["notes"], ["read", "list", "search"])] },
  {
    id: "assistant-messages",
    subject: assistant,
    capabilities: [messaging("receive", assistant), messaging("send", alice)],
  },
  { id: "assistant-payments", subject: assistant, capabilities: [mayPay] },
  { id: "assistant-turns", subject: assistant, capabilities: [mayRun, mayEscalate] },
  { id: "bob-shared", subject: bob, capabilities: [under(["shared"], ["read"])] },
];

/** Fills an empty database with the demo, once, and returns its tokens. A demo from before payments gets them. */
export async function openDemoWorld(stores: Stores, tokenFile: string): Promise<DemoTokens> {
  const stored = existsSync(tokenFile) ? (JSON.parse(readFileSync(tokenFile, "utf8")) as DemoTokens) : undefined;
  const isValid = stored !== undefined && (await stores.credentials.verify(stored.assistant, new Date())) !== undefined;
  const issued = await issueMissing(stores);
  if (isValid) {
    if (issued.includes("assistant-payments")) await switchOn(stores, assistant, ["payments"]);
    return stored;
  }
  for (const [path, content] of Object.entries(files)) {
    await stores.files.write({ namespaceId: tenant, owner: alice }, path.split("/"), content);
  }
  for (const actor of [alice, assistant]) await switchOn(stores, actor, ["files", "messages", "payments", "service"]);
  const tokens = { alice: await credential(stores, alice), assistant: await credential(stores, assistant) };
  writePrivateFile(tokenFile, JSON.stringify(tokens));
  return tokens;
}

/** Issues the grants of the demo that there are not yet; one that was revoked is not issued again. */
async function issueMissing({ grants: store }: Stores): Promise<string[]> {
  const issued: string[] = [];
  const issuedAt = new Date().toISOString();
  for (const grant of grants) {
    if ((await store.find(tenant, grant.id)) !== undefined) continue;
    await store.issue({ ...grant, namespaceId: tenant, issuer: alice, constraints: {}, issuedAt });
    issued.push(grant.id);
  }
  return issued;
}

async function credential({ credentials }: Stores, actor: PrincipalRef): Promise<string> {
  const access: CredentialAccess = { actor, owner: alice, authority: alice, purposes: ["demo"] };
  return (await credentials.create({ namespaceId: tenant, access })).token;
}

async function switchOn({ settings }: Stores, actor: PrincipalRef, enable: string[]): Promise<void> {
  const now = new Date().toISOString();
  const context = {
    actor,
    authority: alice,
    owner: alice,
    namespaceId: tenant,
    now,
    purpose: "demo",
    traceId: "demo",
    enabledToolNamespaces: [],
  };
  await settings.applyUpdate(context, { enable }, new AbortController().signal);
}
