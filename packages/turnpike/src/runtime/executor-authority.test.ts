import { describe, expect, test } from "vitest";
import { capability, descriptorOf, grantOf, later, noteTool, portSecret } from "../../test/deployment.ts";
import {
  calling,
  callsInTurn,
  completed,
  runGrant,
  saidOf,
  toolGrant,
  toolOf,
  toolsOf,
  turnWorldOf,
  type TurnWorld,
} from "../../test/turns.ts";
import { type Grant } from "../contracts/index.ts";
import { ToolError } from "../kernel/index.ts";
import type { RuntimeHost, RuntimeOutcome } from "./plugin.ts";

/** A turn with two calls of `files.read`, and something that happens between them. */
async function aroundTwoCalls(
  between: (world: TurnWorld) => void,
  grants: readonly Grant[] = [runGrant, toolGrant],
): Promise<unknown> {
  const world: TurnWorld = turnWorldOf(
    async (_turn, host) => {
      const first = await host.invokeTool(calling("call-1"));
      between(world);
      return completed([saidOf(first), saidOf(await host.invokeTool(calling("call-2")))]);
    },
    { grants },
  );
  const result = await world.run();
  return "output" in result ? result.output : saidOf(result);
}

describe("inside a turn authority only shrinks", () => {
  const expiring = { ...toolGrant, constraints: { expiresAt: "2026-01-01T12:05:00Z" } };
  const rows: { name: string; between: (world: TurnWorld) => void; grants?: Grant[]; said: string[] }[] = [
    { name: "nothing happens", between: () => {}, said: ["succeeded", "succeeded"] },
    {
      name: "the grant is revoked",
      between: ({ grants }) => grants.revoke("demo", "tools", "2026-01-01T11:59:00Z"),
      said: ["succeeded", "tool_unavailable"],
    },
    {
      name: "the grant is revoked from later on",
      between: ({ grants }) => grants.revoke("demo", "tools", "2026-01-01T12:30:00Z"),
      said: ["succeeded", "succeeded"],
    },
    {
      name: "the grant expires",
      grants: [runGrant, expiring],
      between: ({ time }) => (time.now = later),
      said: ["succeeded", "tool_unavailable"],
    },
    {
      name: "the clock stops short of the expiry",
      grants: [runGrant, expiring],
      between: ({ time }) => (time.now = "2026-01-01T12:04:59.999Z"),
      said: ["succeeded", "succeeded"],
    },
    {
      name: "the grant to run the agent is revoked, and the turn continues without its calls",
      between: ({ grants }) => grants.revoke("demo", "run", "2026-01-01T11:59:00Z"),
      said: ["succeeded", "no_matching_grant"],
    },
    {
      name: "the only use of the grant is gone",
      grants: [runGrant, { ...toolGrant, constraints: { maxUses: 1 } }],
      between: () => {},
      said: ["succeeded", "grant_exhausted"],
    },
  ];
  for (const { name, between, grants, said } of rows) {
    test(`between two calls ${name}: ${said.join(", ")}`, async () => {
      expect(await aroundTwoCalls(between, grants)).toStrictEqual(said);
    });
  }

  const narrow = grantOf("tools", { capabilities: [capability("files", ["notes", "a"], "read")] });
  const wider = { ...narrow, capabilities: [capability("files", ["notes"], "*")] };
  const mails = noteTool({ name: "mail.read", descriptor: descriptorOf({ name: "mail.read", namespace: "mail" }) });
  const issued: { name: string; issue: Grant; tool: string; args: string }[] = [
    { name: "a new grant", issue: { ...wider, id: "new" }, tool: "files.read", args: "b" },
    { name: "a wider grant with the id of the old one", issue: wider, tool: "files.read", args: "b" },
    { name: "a grant for a tool that was not visible", issue: { ...wider, id: "new" }, tool: "files.write", args: "a" },
  ];
  for (const { name, issue, tool, args } of issued) {
    test(`${name} issued while the turn runs does not widen it, and the next turn has it`, async () => {
      const tools = [noteTool(), toolOf("files.write", { readWrite: "write" }), mails];
      const world: TurnWorld = turnWorldOf(
        async (_turn, host) => {
          const wanted = { ...calling("call-1", tool), arguments: { note: args } };
          const before = await host.invokeTool(wanted);
          world.grants.issue(issue);
          const after = await host.invokeTool({ ...wanted, id: "call-2" });
          return completed([before.status, after.status]);
        },
        { grants: [runGrant, narrow], tools },
      );
      expect(await world.run()).toMatchObject({ output: ["denied", "denied"] });
      expect(await world.run({ executionId: "turn-2" })).toMatchObject({ output: ["succeeded", "succeeded"] });
    });
  }

  test("a grant that is revoked and issued again under another id is gone for the turn", async () => {
    const read = toolOf("files.read");
    const world: TurnWorld = turnWorldOf(
      async (_turn, host) => {
        await host.invokeTool(calling("call-1"));
        world.grants.revoke("demo", "tools", "2026-01-01T11:59:00Z");
        world.grants.issue({ ...toolGrant, id: "tools-2" });
        return completed((await host.invokeTool(calling("call-2"))).status);
      },
      { tools: [read] },
    );
    expect(await world.run()).toMatchObject({ output: "denied" });
    expect(read.calls.map(({ id }) => id)).toStrictEqual(["call-1"]);
  });

  test("a provider is asked once in a turn, however many calls it gets", async () => {
    let asked = 0;
    const toolProviders = [
      {
        id: "files",
        namespaces: ["files"],
        tools() {
          asked += 1;
          return Promise.resolve([toolOf("files.read")]);
        },
      },
    ];
    const world = turnWorldOf(callsInTurn(calling("call-1"), calling("call-2")), { tools: [], toolProviders });
    expect(await world.run()).toMatchObject({ output: ["succeeded", "succeeded"] });
    expect(asked).toBe(1);
  });
});

function call(tool: string): (host: RuntimeHost) => Promise<unknown> {
  return (host) => host.invokeTool(calling("call-1", tool));
}

describe("retryable follows what may have happened", () => {
  const mayRetry: RuntimeOutcome = { type: "fail", error: { code: "mine", message: "x", retryable: true } };
  const no: RuntimeOutcome = { type: "fail", error: { code: "mine", message: "x", retryable: false } };
  const silent: RuntimeOutcome = { type: "fail", error: { code: "mine", message: "x" } };
  const broken = toolOf("files.broken", {
    readWrite: "write",
    work() {
      throw new ToolError("tool_execution_failed", "x");
    },
  });
  const rows: {
    name: string;
    act?: (host: RuntimeHost) => Promise<unknown>;
    grants?: Grant[];
    end: RuntimeOutcome | "throws";
    retryable: boolean | undefined;
  }[] = [
    { name: "nothing was called and the plugin says that it is retryable", end: mayRetry, retryable: true },
    { name: "nothing was called and the plugin says no", end: no, retryable: false },
    { name: "nothing was called and the plugin says nothing", end: silent, retryable: undefined },
    { name: "nothing was called and the plugin throws", end: "throws", retryable: true },
    {
      name: "a read ran and the plugin says that it is retryable",
      act: call("files.read"),
      end: mayRetry,
      retryable: true,
    },
    { name: "a read ran and the plugin throws", act: call("files.read"), end: "throws", retryable: true },
    {
      name: "an idempotent write ran and the plugin says that it is retryable",
      act: call("files.put"),
      end: mayRetry,
      retryable: true,
    },
    {
      name: "a write ran and the plugin says that it is retryable",
      act: call("files.write"),
      end: mayRetry,
      retryable: false,
    },
    { name: "a write ran and the plugin says nothing", act: call("files.write"), end: silent, retryable: false },
    { name: "a write ran and the plugin throws", act: call("files.write"), end: "throws", retryable: false },
    {
      name: "a write failed in its handler and the plugin says that it is retryable",
      act: call("files.broken"),
      end: mayRetry,
      retryable: false,
    },
    {
      name: "a write was denied by the kernel and the plugin says that it is retryable",
      act: call("files.write"),
      grants: [runGrant, grantOf("tools", { capabilities: [capability("files", ["notes"], "read")] })],
      end: mayRetry,
      retryable: true,
    },
    {
      name: "a write was refused by a limit and the plugin says that it is retryable",
      act: (host) => host.invokeTool(calling("call-1", "files.write"), { step: 16 }),
      end: mayRetry,
      retryable: true,
    },
    {
      name: "a write of another trace was refused and the plugin says that it is retryable",
      act: (host) => host.invokeTool({ ...calling("call-1", "files.write"), traceId: "trace-2" }),
      end: mayRetry,
      retryable: true,
    },
  ];
  for (const { name, act, grants, end, retryable } of rows) {
    test(`${name}: ${retryable}`, async () => {
      const world = turnWorldOf(
        async (_turn, host) => {
          await act?.(host);
          if (end === "throws") throw new Error(portSecret);
          return end;
        },
        { tools: [...Object.values(toolsOf()), broken], ...(grants && { grants }) },
      );
      const result = await world.run();
      expect("error" in result ? result.error?.retryable : "no error").toBe(retryable);
    });
  }
});
