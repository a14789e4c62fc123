import { describe, expect, test } from "vitest";
import type { Grant } from "turnpike/contracts";
import { alice, assistant, grant } from "../../test/records.ts";
import type { GrantEntry } from "../admin-contract/index.ts";
import { differenceOf } from "./grant-difference.ts";
import { toFileGrant } from "./grant-file.ts";

const now = "2026-06-01T00:00:00Z";

function entry(one: Grant, state: GrantEntry["state"] = "live"): GrantEntry {
  return { grant: one, state };
}

/** What would be done, in short: `+id<parent` for one to issue, `-id` for one to revoke, `=count`, `~label` for one that is over. */
function differ(file: readonly Grant[], entries: readonly GrantEntry[]): string {
  let made = 0;
  const { issue, revoke, unchanged, expired } = differenceOf(file.map(toFileGrant), entries, {
    now,
    makeId: () => `fresh-${(made += 1)}`,
  });
  return [
    ...issue.map(({ id, parentId }) => `+${id}${parentId === undefined ? "" : `<${parentId}`}`),
    ...revoke.map(({ id }) => `-${id}`),
    ...expired.map((label) => `~${label}`),
    `=${unchanged}`,
  ].join(" ");
}

const capability = (...actions: string[]): Grant["capabilities"][number] => ({
  resource: { namespace: "files", path: ["notes"] },
  actions,
  scope: "descendants",
});
const write = { capabilities: [capability("write")] };
const once = { constraints: { maxUses: 1 } };
const child = (id: string, parentId: string, changes: Partial<Grant> = {}): Grant =>
  grant(id, { parentId, issuer: assistant, subject: alice, ...changes });
const over = { constraints: { expiresAt: "2026-01-01T00:00:00Z" } };

describe("the difference between a file and a tenant:", () => {
  for (const { name, file, entries, says } of [
    { name: "nothing and nothing", file: [], entries: [], says: "=0" },
    {
      name: "all of it in an empty tenant, under its labels",
      file: [grant("a"), grant("b", write)],
      entries: [],
      says: "+a +b =0",
    },
    { name: "nothing in one that has it", file: [grant("a")], entries: [entry(grant("a"))], says: "=1" },
    {
      name: "nothing in one that has it under another id",
      file: [grant("a")],
      entries: [entry(grant("x"))],
      says: "=1",
    },
    {
      name: "everything goes with an empty file",
      file: [],
      entries: [entry(grant("a")), entry(grant("b"), "future")],
      says: "-a -b =0",
    },
    {
      name: "a change is a revocation and a new grant",
      file: [grant("a", write)],
      entries: [entry(grant("a"))],
      says: "+fresh-1 -a =0",
    },
    {
      name: "other uses are another grant",
      file: [grant("a", once)],
      entries: [entry(grant("a"))],
      says: "+fresh-1 -a =0",
    },
    {
      name: "other approval is another grant",
      file: [grant("a", { capabilities: [{ ...capability("read"), approval: "each" as const }] })],
      entries: [entry(grant("a"))],
      says: "+fresh-1 -a =0",
    },
    {
      name: "an id that was used before is not taken again",
      file: [grant("a")],
      entries: [entry(grant("a"), "revoked")],
      says: "+fresh-1 =0",
    },
    {
      name: "what was revoked or is invalid matches nothing and stays",
      file: [],
      entries: [entry(grant("a"), "revoked"), entry(grant("b"), "invalid")],
      says: "=0",
    },
    {
      name: "one that is used up is not given out anew",
      file: [grant("a", once)],
      entries: [entry(grant("a", once), "exhausted")],
      says: "=1",
    },
    {
      name: "one that is used up and not in the file stays as it is",
      file: [],
      entries: [entry(grant("a", once), "exhausted")],
      says: "=0",
    },
    { name: "one that has expired is left out", file: [grant("a", over)], entries: [], says: "~a =0" },
    {
      name: "one that has expired on both sides is unchanged",
      file: [grant("a", over)],
      entries: [entry(grant("a", over), "expired")],
      says: "=1",
    },
    {
      name: "what is derived from an expired one is left out",
      file: [child("b", "a"), grant("a", over)],
      entries: [],
      says: "~a ~b =0",
    },
    {
      name: "two of the same content are two",
      file: [grant("a"), grant("b")],
      entries: [entry(grant("a"))],
      says: "+b =1",
    },
    {
      name: "of two of the same content the other one goes",
      file: [grant("b")],
      entries: [entry(grant("a")), entry(grant("b"))],
      says: "-a =1",
    },
    {
      name: "the order of lists and the way of writing a time make no difference",
      file: [
        grant("a", {
          capabilities: [capability("b", "a"), capability("c")],
          constraints: { purposes: ["x", "y"], expiresAt: "2027-01-01T01:00:00+01:00" },
        }),
      ],
      entries: [
        entry(
          grant("a", {
            capabilities: [capability("c"), capability("a", "b")],
            constraints: { expiresAt: "2027-01-01T00:00:00.000Z", purposes: ["y", "x"] },
          }),
        ),
      ],
      says: "=1",
    },
    {
      name: "parents come first, whatever the order of the file",
      file: [child("c", "b"), child("b", "a"), grant("a")],
      entries: [],
      says: "+a +b<a +c<b =0",
    },
    {
      name: "a chain that is there stays",
      file: [child("b", "a"), grant("a")],
      entries: [entry(grant("a")), entry(child("b", "a"))],
      says: "=2",
    },
    {
      name: "a chain that is there under other ids stays",
      file: [child("b", "a"), grant("a")],
      entries: [entry(grant("x")), entry(child("y", "x"))],
      says: "=2",
    },
    {
      name: "with another parent everything below it is another",
      file: [child("b", "a"), grant("a", write)],
      entries: [entry(grant("a")), entry(child("b", "a"))],
      says: "+fresh-1 +fresh-2<fresh-1 -a -b =0",
    },
    {
      name: "the same content below another parent is another grant",
      file: [grant("a"), grant("z", write), child("b", "z")],
      entries: [entry(grant("a")), entry(grant("z", write)), entry(child("b", "a"))],
      says: "+fresh-1<z -b =2",
    },
    {
      name: "of parents of the same content each retains its own",
      file: [grant("a"), grant("b"), child("c", "b")],
      entries: [entry(grant("b")), entry(grant("a")), entry(child("c", "b"))],
      says: "=3",
    },
    {
      name: "a new label never takes the id that another label has",
      file: [grant("x", write), grant("a")],
      entries: [entry(grant("x"))],
      says: "+fresh-1 =1",
    },
  ]) {
    test(name, () => expect(differ(file, entries)).toBe(says));
  }
});

test("what was exported is no difference, and neither is it after it was applied", () => {
  const held = [grant("a"), child("b", "a"), grant("c", write), grant("d", once)];
  expect(
    differ(
      held,
      held.map((one) => entry(one)),
    ),
  ).toBe("=4");
});
