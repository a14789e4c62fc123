import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";

test("the built library needs the globals of the web, zod, and nothing of Node, and loads where nothing may start yet", () => {
  const program = join(repository, "tests/support/fixtures/web-globals/run.js");
  const flags = ["--experimental-vm-modules", "--no-warnings"];
  const printed = execFileSync(process.execPath, [...flags, program], { encoding: "utf8" });
  expect(JSON.parse(printed)).toStrictEqual({
    // Tried once, and done without where it is refused.
    refused: ["AbortController"],
    health: { status: "ok", protocolVersion: "1" },
    routes: 17,
    tools: ["greetings.greet"],
    namespaces: { enabled: 1, disabled: 0, total: 1 },
    update: { enabled: 0, disabled: 1, total: 1 },
    reach: 3,
    authorize: "allowed",
    refusal: "invalid_request",
    invokeTool: "hello web",
    invokeResource: "resource_provider_not_found",
    sendMessage: "delivered",
    executeTurn: ["succeeded", ["hello world"]],
    streamTurn: [["turn.started", "tool.requested", "tool.completed", "turn.completed"], "succeeded"],
    audited: true,
    ofNode: [],
    typeOf: ["undefined", "undefined", "undefined", "undefined", "undefined", "undefined"],
  });
});
