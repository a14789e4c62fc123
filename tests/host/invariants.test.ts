import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, startHostProcess } from "../support/host-process.ts";
import { makeGrant } from "../support/host-world.ts";
import { command, said, words, type Printed } from "../support/terminal.ts";

test("rules about grants are set, listed, checked and removed from the command line", async () => {
  const host = await startHostProcess({ folder: makeFolder() });
  const file = (name: string, rule: object): string => {
    const path = join(host.folder, name);
    writeFileSync(path, JSON.stringify(rule));
    return path;
  };
  const run = (args: readonly string[]): Promise<Printed> => command(host, args);
  const never = file("never.json", { id: "no-agents", never: { subject: "agent:*", resource: "files/private" } });
  expect(await run(words`invariant list --tenant acme`)).toEqual(said("There are no rules about grants."));
  expect(await run(words`invariant add --file ${never} --tenant acme`)).toEqual(
    said("Added no-agents: agent:* may not do anything in files/private/**."),
  );
  expect(await run(words`invariant check --tenant acme`)).toEqual(said("No rule is broken."));
  const create = words`grant create --tenant acme --id g --from human:alice --to agent:assistant --action read --resource`;
  const refused = await run([...create, "files"]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("Refused (invariant_violated): Nothing was changed");
  expect(refused.stderr).toContain("no-agents: agent:assistant may read files/private of human:alice");
  const preview = await run([...create, "files", "--preview"]);
  expect(preview.code).toBe(1);
  expect(preview.stderr).toContain("This could not be done: Nothing was changed");
  expect((await run([...create, "files/open"])).code).toBe(0);
  const only = file("only.json", { id: "people", only: { subjects: ["human:*"], action: "read", resource: "files" } });
  expect((await run(words`invariant add --file ${only}`)).stderr).toContain(
    "people: agent:assistant may read files/open",
  );
  const reporting = await run(words`invariant add --file ${only} --report-only`);
  expect([reporting.code, reporting.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^Added people: only human:\* may read files\/\*\*\.\nIt is broken already:\npeople: agent:assistant may /,
    ),
  ]);
  const checked = await run(words`invariant check`);
  expect([checked.code, checked.stdout]).toEqual([
    3,
    expect.stringContaining("people: agent:assistant may read files/open"),
  ]);
  // What is only reported on refuses nothing.
  await makeGrant(host, { id: "more", tenant: "acme", resource: "files/more", actions: ["read"] });
  const listed = (await run(words`invariant list`)).stdout.split("\n").map((line) => line.trim().split(/ {2,}/));
  expect(listed.slice(0, 3)).toEqual([
    ["ID", "TENANT", "RULE", "REFUSES"],
    ["people", "every tenant", "only human:* may read files/**", "nothing"],
    ["no-agents", "acme", "agent:* may not do anything in files/private/**", "writes"],
  ]);
  expect(await run(words`invariant remove no-agents --tenant acme`)).toEqual(said("Removed no-agents."));
  expect((await run([...create.map((word) => (word === "g" ? "h" : word)), "files"])).code).toBe(0);
  const wrong = await run(
    words`invariant add --file ${file("wrong.json", { id: "x", never: { resource: "crm//eu" } })}`,
  );
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("expected a place such as files/notes");
  await host.stop();
});
