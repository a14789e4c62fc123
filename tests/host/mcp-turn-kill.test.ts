import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { testServer } from "../../packages/host/test/mcp/servers.ts";
import { durableClient, linesIn, stepsTurn } from "../support/durable-host.ts";
import { placeFor, startScript } from "../support/effect-host.ts";
import { makeFolder } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";

const script = fileURLToPath(new URL("../support/mcp-turn-host.js", import.meta.url));

for (const kind of ["sqlite", "postgres"] as const)
  test(`a turn of a killed host has its MCP tools on ${kind} while their server still starts, and its call waits for it`, async () => {
    const folder = makeFolder();
    const [started, hold] = [join(folder, "started"), join(folder, "hold")];
    const servers = { notes: { command: testServer("--start-after", started) } };
    writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers } }));
    for (const file of [started, hold]) writeFileSync(file, "");
    const place = await placeFor(kind);
    let host = await startScript(script, folder, place);
    await makeGrant(host, { id: "turns", resource: "service.execution/agent/assistant", actions: ["invoke"] });
    await makeGrant(host, { id: "echo", resource: "mcp.notes/echo", actions: ["call"] });
    const { token } = await makeCredential(host, {});
    await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["mcp.notes"] } });
    const client = durableClient(token, () => host.url);
    await client.startTurn(stepsTurn("turn-1", 0));
    const offered = ["0: mcp.notes.echo", "1: mcp.notes.echo"];
    await eventually(() => expect(linesIn(folder, "asked.log")).toEqual(offered));
    await host.stop("SIGKILL");

    // From now on the server says nothing until the turn has resumed without it.
    for (const file of [started, hold]) rmSync(file);
    host = await startScript(script, folder, place);
    await eventually(() => expect(linesIn(folder, "asked.log")).toEqual([...offered, "1: mcp.notes.echo"]));
    expect(await client.turn("turn-1")).toMatchObject({ status: "running" });
    writeFileSync(started, "");
    await eventually(async () => expect(await client.turn("turn-1")).not.toMatchObject({ status: "running" }));
    expect(await client.turn("turn-1")).toMatchObject({
      result: { status: "succeeded", output: ["succeeded", "succeeded"] },
    });
  });
