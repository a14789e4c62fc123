import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));

test("an agent is governed in three lines, and its example has 25 at most", () => {
  const folders = readdirSync(examples).filter((name) => name.startsWith("govern-"));
  expect(folders.toSorted()).toEqual(["govern-ai-sdk", "govern-langchain", "govern-mastra", "govern-openai-agents"]);
  for (const folder of folders) {
    const lines = readFileSync(`${examples}/${folder}/agent.js`, "utf8").trimEnd().split("\n");
    const ours = lines.filter((line) => !line.startsWith("//") && /gate|govern|turnpike/i.test(line));
    expect([folder, ours.length, lines.length <= 25]).toEqual([folder, 3, true]);
  }
});
