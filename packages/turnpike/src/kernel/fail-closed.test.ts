import { expect, test } from "vitest";
import {
  agent,
  callOf,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  needs,
  noteTool,
  operationOf,
  portSecret,
  providerOf,
  refusingAudit,
  runAgent,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import type { Grant } from "../contracts/index.ts";
import { memoryMessages, memoryNamespaceSettings, memoryResources } from "../testing/index.ts";
import type { PortFailure } from "./ports.ts";

const everything = [
  capability("files", ["notes"], "read"),
  capability("service.messaging", ["human", "bob"], "send"),
  runAgent,
];
const plain = grantOf("grant-1", { capabilities: everything });
const bounded = grantOf("grant-1", { capabilities: everything, constraints: { maxUses: 9 } });
const derived = grantOf("grant-1", { capabilities: everything, parentId: "parent" });

const context = contextOf({ enabledToolNamespaces: ["files", "mail"] });

/** Every operation, as the code or the status a caller sees. */
const operations: Record<string, (world: World) => Promise<unknown>> = {
  authorize: ({ kernel }) => kernel.authorize(context, needs("notes", "today")),
  listTools: ({ kernel }) => kernel.listTools(context),
  listToolNamespaces: ({ kernel }) => kernel.listToolNamespaces(context),
  updateToolNamespaces: ({ kernel }) => kernel.updateToolNamespaces(context, { enable: ["files"] }),
  invokeTool: ({ kernel }) => kernel.invokeTool(context, callOf()),
  invokeProvidedTool: ({ kernel }) => kernel.invokeTool(context, callOf({ tool: "mail.find" })),
  invokeResource: ({ kernel }) => kernel.invokeResource(context, operationOf()),
  sendMessage: ({ kernel }) => kernel.sendMessage(context, envelopeOf()),
  reach: ({ kernel }) => kernel.reach(context),
  admitTurn: ({ kernel }) => kernel.admitTurn(context, { agent }),
};

const healthy: Record<string, string> = {
  authorize: "allowed",
  listTools: "listed",
  listToolNamespaces: "listed",
  updateToolNamespaces: "listed",
  invokeTool: "succeeded",
  invokeProvidedTool: "succeeded",
  invokeResource: "succeeded",
  sendMessage: "delivered",
  reach: "computed",
  admitTurn: "admitted",
};

const onDecisions = (code: string): Record<string, string> => ({
  authorize: code,
  invokeTool: code,
  invokeProvidedTool: code,
  invokeResource: code,
  sendMessage: code,
  admitTurn: code,
});

const unavailableLists = { listTools: "authority_unavailable", reach: "authority_unavailable" };

interface Row {
  name: string;
  world?: Parameters<typeof worldOf>[0];
  /** Only what differs from a healthy deployment. */
  codes: Record<string, string>;
  /** Whom the operator hears of; undefined when no port failed. */
  failure?: PortFailure;
}

const manyGrants: Grant[] = Array.from({ length: 16_385 }, (_, place) => grantOf(`grant-${place}`));

const rows: Row[] = [
  { name: "everything in order", codes: {} },
  { name: "everything in order and a grant with uses left", world: { grants: [bounded] }, codes: {} },
  {
    name: "a grant source that fails",
    world: { source: { load: fails } },
    codes: { ...onDecisions("authority_unavailable"), ...unavailableLists },
    failure: { port: "grants" },
  },
  {
    name: "a grant source that answers too many",
    world: { source: { load: () => Promise.resolve(manyGrants) } },
    codes: { ...onDecisions("authority_unavailable"), ...unavailableLists },
    failure: { port: "grants" },
  },
  {
    name: "a grant source that answers another actor's grants too",
    world: {
      source: {
        load: () => Promise.resolve([plain, grantOf("grant-2", { subject: { kind: "agent", agentId: "other" } })]),
      },
    },
    codes: { ...onDecisions("authority_unavailable"), ...unavailableLists },
    failure: { port: "grants" },
  },
  {
    name: "a grant source that answers another tenant's grant",
    world: { source: { load: () => Promise.resolve([{ ...plain, namespaceId: "elsewhere" }]) } },
    codes: { ...onDecisions("authority_unavailable"), ...unavailableLists },
    failure: { port: "grants" },
  },
  {
    name: "a grant source that answers nonsense",
    world: { source: { load: () => Promise.resolve(untyped<Grant[]>([{ ...plain, everything: true }])) } },
    codes: { ...onDecisions("authority_unavailable"), ...unavailableLists },
    failure: { port: "grants" },
  },
  {
    name: "a chain that cannot be read",
    world: { source: { load: () => Promise.resolve([derived]), find: fails } },
    codes: { ...onDecisions("delegation_chain_unverified"), ...unavailableLists },
    failure: { port: "grants", id: "parent" },
  },
  {
    name: "a usage store that fails",
    world: { grants: [bounded], usage: { used: fails, consume: fails } },
    codes: {
      ...onDecisions("usage_store_unavailable"),
      listTools: "authority_unavailable",
      reach: "usage_store_unavailable",
    },
    failure: { port: "usage", id: "grant-1" },
  },
  {
    name: "a usage store that answers nonsense",
    world: {
      grants: [bounded],
      usage: { used: () => Promise.resolve(Number.NaN), consume: () => Promise.resolve(untyped<boolean>("yes")) },
    },
    codes: {
      ...onDecisions("usage_store_unavailable"),
      listTools: "authority_unavailable",
      reach: "usage_store_unavailable",
    },
    failure: { port: "usage", id: "grant-1" },
  },
  {
    name: "no usage store for a bounded grant",
    world: { grants: [bounded], countsUses: false },
    codes: {
      ...onDecisions("usage_store_unavailable"),
      listTools: "authority_unavailable",
      reach: "usage_store_unavailable",
    },
  },
  {
    name: "a policy that throws",
    world: {
      policy: {
        narrow() {
          throw new Error(portSecret);
        },
      },
    },
    codes: onDecisions("host_policy_unavailable"),
    failure: { port: "policy" },
  },
  {
    name: "a policy that answers later",
    world: { policy: { narrow: () => untyped<undefined>(Promise.resolve(undefined)) } },
    codes: onDecisions("host_policy_unavailable"),
    failure: { port: "policy" },
  },
  {
    name: "a policy that answers nonsense",
    world: { policy: { narrow: () => untyped<undefined>(true) } },
    codes: onDecisions("host_policy_unavailable"),
    failure: { port: "policy" },
  },
  {
    name: "a settings store that fails",
    world: { namespaceSettings: { applyUpdate: fails } },
    codes: { updateToolNamespaces: "namespace_settings_unavailable" },
    failure: { port: "namespaceSettings" },
  },
  {
    name: "a tool provider that fails",
    world: { toolProviders: [providerOf("post", ["mail"], fails)] },
    codes: { invokeProvidedTool: "tool_catalog_unavailable" },
    failure: { port: "tools", id: "post" },
  },
  {
    name: "a tool that fails",
    world: { tools: [noteTool({ invoke: fails })] },
    codes: { invokeTool: "tool_execution_failed" },
    failure: { port: "tools", id: "files.read" },
  },
  {
    name: "a resource provider that fails",
    world: { resources: [{ namespace: "files", invoke: fails }] },
    codes: { invokeResource: "resource_execution_failed" },
    failure: { port: "resources", id: "files" },
  },
  {
    name: "a transport that fails",
    world: { messages: { deliver: fails } },
    codes: { sendMessage: "message_delivery_failed" },
    failure: { port: "messages" },
  },
  {
    name: "an audit sink that fails",
    world: { audit: refusingAudit(() => true) },
    codes: {
      ...onDecisions("audit_unavailable"),
      listTools: "audit_unavailable",
      listToolNamespaces: "audit_unavailable",
      updateToolNamespaces: "audit_unavailable",
      reach: "authority_unavailable",
    },
  },
];

for (const row of rows) {
  test(`with ${row.name} every operation fails closed where it depends on that, with its own code, and nowhere else`, async () => {
    const seen: Record<string, string> = {};
    const failures: PortFailure[] = [];
    for (const [name, operate] of Object.entries(operations)) {
      const world = worldOf({
        grants: [plain],
        tools: [noteTool()],
        toolProviders: [providerOf("post", ["mail"], () => Promise.resolve([noteTool({ name: "mail.find" })]))],
        resources: [memoryResources("files")],
        messages: memoryMessages(),
        namespaceSettings: memoryNamespaceSettings(["files"]),
        ...row.world,
      });
      const answer = await operate(world).catch((error: unknown) => error);
      seen[name] = shortly(answer);
      expect(`${JSON.stringify(answer)} ${String(answer)}`).not.toContain(portSecret);
      failures.push(...world.portErrors.map(({ failure }) => failure));
    }
    expect(seen).toStrictEqual({ ...healthy, ...row.codes });
    expect(new Set(failures.map((failure) => JSON.stringify(failure)))).toStrictEqual(
      new Set(row.failure === undefined ? [] : [JSON.stringify(row.failure)]),
    );
  });
}

/** The one word that tells a caller how it went. */
function shortly(answer: unknown): string {
  if (Array.isArray(answer)) return "listed";
  if (typeof answer !== "object" || answer === null) return String(answer);
  if ("error" in answer) return shortly(answer.error);
  for (const key of ["code", "reasonCode", "reason", "status", "kind"]) {
    const value: unknown = Reflect.get(answer, key);
    if (typeof value === "string") return value;
  }
  return "namespaces" in answer ? "listed" : "unknown";
}
