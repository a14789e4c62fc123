// One decision, in process, with all of its constraints: this kernel beside other engines with the same rules.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AuthorizationRequestSchema } from "turnpike/contracts";
import type { AccessContext, AuthorizationRequest, Grant } from "turnpike/contracts";
import { acceptContext, readBody } from "turnpike/http";
import { createKernel } from "turnpike/kernel";
import { memoryGrants } from "turnpike/testing";
import { measureSubjects, type Subject } from "../support/in-process.ts";
import { publish, type Section } from "../support/results.ts";

type Decide = (folder: string) => boolean;

/** Of the kernel's own files, what decides once the grants are compiled. */
interface KernelCore {
  compileAuthority(grants: readonly Grant[]): unknown;
  instantOf(context: AccessContext): unknown;
  candidates(view: { current: unknown }, request: AuthorizationRequest, instant: unknown): unknown[];
}

const { peers } = (await import(sourceUrl("bench/engines/peers.js"))) as {
  peers: Record<string, (count: number) => Decide | Promise<Decide>>;
};
const core = {
  ...(await import(sourceUrl("packages/turnpike/dist/kernel/authority.js"))),
  ...(await import(sourceUrl("packages/turnpike/dist/kernel/candidates.js"))),
} as KernelCore;

const agent = { kind: "agent", agentId: "assistant" } as const;
const alice = { kind: "human", userId: "alice" } as const;
const context = acceptContext(
  {
    actor: agent,
    authority: alice,
    enabledToolNamespaces: [],
    namespaceId: "bench",
    now: "2026-06-01T12:00:00Z",
    owner: alice,
    purpose: "measure",
    traceId: "trace-1",
  },
  "required",
);

/** Accepted once, as the HTTP adapter does: what is measured is the decision, not the check of its input. */
function accepted<T>(schema: Parameters<typeof readBody>[1], value: T): Promise<T> {
  const bytes = new TextEncoder().encode(JSON.stringify(value)).buffer;
  return readBody({ arrayBuffer: () => Promise.resolve(bytes) }, schema) as Promise<T>;
}

function grantsFor(count: number): Grant[] {
  return Array.from({ length: count }, (_, place) => ({
    id: `grant-${place}`,
    namespaceId: "bench",
    subject: agent,
    issuer: alice,
    capabilities: [
      { resource: { namespace: "files", path: [`folder-${place}`] }, actions: ["read"], scope: "descendants" },
    ],
    constraints: { purposes: ["measure"], notBefore: "2026-01-01T00:00:00Z", expiresAt: "2027-01-01T00:00:00Z" },
    issuedAt: "2026-01-01T00:00:00Z",
  }));
}

function requestFor(folder: string): Promise<AuthorizationRequest> {
  const resource = { namespace: "files", path: [folder, "notes", "today.md"] };
  return accepted(AuthorizationRequestSchema, { action: "read", resource });
}

async function subjectsFor(count: number, others: readonly string[]): Promise<Subject[]> {
  const folder = `folder-${count - 1}`;
  const grants = grantsFor(count);
  const kernel = createKernel({ grants: memoryGrants(grants), audit: "none" });
  const [request, elsewhere] = [await requestFor(folder), await requestFor("elsewhere")];
  const view = { current: core.compileAuthority(grants) };
  const decide = (asked: AuthorizationRequest): boolean =>
    core.candidates(view, asked, core.instantOf(context)).length > 0;
  const isRight =
    (await kernel.authorize(context, request)).allowed && !(await kernel.authorize(context, elsewhere)).allowed;
  if (!isRight || !decide(request) || decide(elsewhere)) throw new Error("the kernel does not decide as it should");

  const rules = `${count} ${count === 1 ? "rule" : "rules"}`;
  const against = `kernel.authorize, ${rules}`;
  const subjects: Subject[] = [
    { name: against, run: () => kernel.authorize(context, request), goalMicros: 1 },
    {
      name: `the kernel's synchronous core, ${rules}`,
      run: () => decide(request),
      against,
      goalMicros: count > 256 ? 0.3 : 0.15,
    },
  ];
  for (const name of others) {
    const mayRead = await peers[name]?.(count);
    if (mayRead?.(folder) !== true || mayRead("elsewhere")) throw new Error(`${name} does not decide as it should`);
    subjects.push({ name: `${name}, ${rules}`, run: () => mayRead(folder), against });
  }
  return subjects;
}

function sourceUrl(path: string): string {
  return pathToFileURL(resolve(path)).href;
}

const sections: Section[] = [];
for (const { count, others } of [
  { count: 1, others: Object.keys(peers) },
  { count: 256, others: Object.keys(peers) },
  { count: 10_000, others: [] },
]) {
  const title = `One decision, ${count} ${count === 1 ? "rule" : "rules, the matching one last"}`;
  sections.push(await measureSubjects(title, await subjectsFor(count, others)));
}
publish("engines", sections);
