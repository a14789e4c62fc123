import { ChildProcess } from "node:child_process";
import { expect, onTestFinished, test, vi } from "vitest";
import { openStdioChannel } from "./stdio-channel.ts";

interface Started {
  file: string;
  uid: number;
  envPairs: string[];
}

test("nothing that is started as a server's user inherits the host's variables", async () => {
  const isRoot = process.getuid?.() === 0;
  // Only root can start a program as another user.
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  // Every way to start a program ends in this method, which takes the variables as the program gets them.
  const spawn = vi.spyOn(ChildProcess.prototype as unknown as { spawn(options: Started): number }, "spawn");
  onTestFinished(() => spawn.mockRestore());
  const limits = { maxBytes: 1000, json: { maxNodes: 10, maxDepth: 10 }, onFlood() {}, onStandardError() {} };
  const channel = await openStdioChannel({ command: ["/bin/cat"], env: { OWN: "1" }, user }, limits);
  await channel.close();
  const started = spawn.mock.calls.map(([{ file, uid, envPairs }]) => ({
    file,
    uid,
    variables: envPairs.map((pair) => pair.split("=")[0]),
  }));
  expect(started).toEqual([
    { file: "/bin/cat", uid: user.uid, variables: ["PATH", "HOME", "TMPDIR", "OWN"] },
    { file: "/bin/rm", uid: user.uid, variables: [] },
  ]);
});
