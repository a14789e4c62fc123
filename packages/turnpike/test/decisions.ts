import type {
  AccessContext,
  AuthorizationRequest,
  Capability,
  Grant,
  PrincipalRef,
  ResourceRef,
} from "../src/contracts/index.ts";
import type { GrantSource, Kernel, KernelOptions, PortFailure, UsageStore } from "../src/kernel/index.ts";
import type { MemoryAudit } from "../src/testing/index.ts";
import { alice, now, worldOf } from "./deployment.ts";

export { alice, now, untyped } from "./deployment.ts";
export const justBefore = "2026-01-01T11:59:59.999Z";
export const justAfter = "2026-01-01T12:00:00.001Z";

/** The actor, the issuer and the owner are three, so that no test passes because two of them are mixed up. */
export const assistant: PrincipalRef = { kind: "agent", agentId: "assistant" };
export const olivia: PrincipalRef = { kind: "human", userId: "olivia" };
export const stranger: PrincipalRef = { kind: "human", userId: "stranger" };

/** The assistant, on Alice's authority, over what is Olivia's. */
export function context(changes: Partial<AccessContext> = {}): AccessContext {
  return {
    actor: assistant,
    authority: alice,
    enabledToolNamespaces: [],
    namespaceId: "tenant-1",
    now,
    owner: olivia,
    purpose: "reporting",
    traceId: "trace-1",
    ...changes,
  };
}

/** The context that suffices for listing and reading. */
export function contextWithoutAuthority(): Omit<AccessContext, "authority"> {
  const { authority: _left, ...rest } = context();
  return rest;
}

/** To read documents at `reports` and below, unless said otherwise. */
export function capability(changes: Partial<ResourceRef> & Partial<Omit<Capability, "resource">> = {}): Capability {
  const { actions = ["read"], scope = "descendants", approval, ...resource } = changes;
  return {
    resource: { namespace: "documents", path: ["reports"], ...resource },
    actions,
    scope,
    ...(approval && { approval }),
  };
}

/** A grant from Alice to the assistant that covers `ask()`. */
export function grant(changes: Partial<Grant> = {}): Grant {
  return {
    id: "grant-1",
    namespaceId: "tenant-1",
    subject: assistant,
    issuer: alice,
    capabilities: [capability()],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
    ...changes,
  };
}

/** A delegable grant from Olivia to Alice, the parent of `child()`. */
export function parent(changes: Partial<Grant> = {}): Grant {
  return grant({ id: "parent", subject: alice, issuer: olivia, constraints: { delegationDepth: 1 }, ...changes });
}

/** A grant from Alice to the assistant, derived from `parent()`. */
export function child(changes: Partial<Grant> = {}): Grant {
  return grant({ id: "child", parentId: "parent", ...changes });
}

/** A grant with `links` parents above it, and those parents, all of them Alice's and then the assistant's. */
export function lineage(links: number): { leaf: Grant; parents: Grant[] } {
  const parents = Array.from({ length: links }, (_, place) =>
    grant({
      id: `link-${place}`,
      subject: alice,
      issuer: place === 0 ? olivia : alice,
      constraints: { delegationDepth: links - place },
      ...(place > 0 && { parentId: `link-${place - 1}` }),
    }),
  );
  return { leaf: grant({ id: "leaf", ...(links > 0 && { parentId: `link-${links - 1}` }) }), parents };
}

/** To read a document below `reports`, unless said otherwise. */
export function ask(changes: Partial<ResourceRef> & { action?: string } = {}): AuthorizationRequest {
  const { action = "read", ...resource } = changes;
  return { action, resource: { namespace: "documents", path: ["reports", "q1"], ...resource } };
}

/** A kernel with its ports at hand. */
export interface World {
  kernel: Kernel;
  usage: UsageStore;
  audit: Pick<MemoryAudit, "events">;
  /** What the operator was told: the port that failed and its own words. */
  portErrors: { failure: PortFailure; message: string }[];
}

/** A kernel over grants in memory; any port can be replaced, and `usage: "none"` leaves it out. */
export function world(
  held: readonly Grant[] | GrantSource,
  {
    usage,
    ...ports
  }: Partial<Omit<KernelOptions, "grants" | "usage" | "audit">> & { usage?: UsageStore | "none" } = {},
): World {
  const portErrors: World["portErrors"] = [];
  const deployed = worldOf({
    ...("load" in held ? { source: held } : { grants: held }),
    ...(usage === "none" ? { countsUses: false } : usage && { usage }),
    onPortError: (error, failure) => portErrors.push({ failure, message: String(error) }),
    ...ports,
  });
  return { kernel: deployed.kernel, usage: deployed.usage, audit: deployed, portErrors };
}
