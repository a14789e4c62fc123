import { expect, test } from "vitest";
import { principalKey } from "../src/contracts/index.ts";
import { parseInstant } from "../src/internal/index.ts";
import { compareGrants, type Among, type ChangedRegion, type Region, type Terms } from "../src/kernel/index.ts";
import { createRandom } from "./random.ts";
import { judgeOf, requestsOf, type Carrier, type Request } from "./region-requests.ts";
import { drawWorld, type RegionWorld } from "./region-worlds.ts";
import { timesOf } from "../../../tests/support/size.ts";

function isAmong<Value>(value: Value, among: Among<Value>, keyOf: (value: Value) => string): boolean {
  const has = (values: Value[]): boolean => values.some((one) => keyOf(one) === keyOf(value));
  return Array.isArray(among) ? has(among) : !has(among.not);
}

function isAt(path: readonly string[], place: { path: readonly string[]; scope: string }): boolean {
  const isUnder = place.path.every((segment, depth) => path[depth] === segment);
  return isUnder && (place.scope === "descendants" || path.length === place.path.length);
}

/** Whether a request is of a region, written down once more. */
function isOf(request: Request, region: Region): boolean {
  const now = parseInstant(request.now) ?? Number.NaN;
  return (
    principalKey(region.subject) === principalKey(request.subject) &&
    principalKey(region.authority) === principalKey(request.authority) &&
    region.namespace === request.namespace &&
    isAmong(request.owner, region.owner, principalKey) &&
    isAt(request.path, region) &&
    !(region.except ?? []).some((place) => isAt(request.path, place)) &&
    isAmong(request.action, region.actions, String) &&
    isAmong(request.purpose, region.purposes, String) &&
    (region.from === undefined || now >= (parseInstant(region.from) ?? Number.NaN)) &&
    (region.until === undefined || now < (parseInstant(region.until) ?? Number.NaN))
  );
}

function textOf(terms: readonly Terms[]): string {
  if (terms.some((one) => one.approval === undefined && one.maxUses === undefined)) return "free";
  return [...new Set(terms.map(({ approval, maxUses }) => `${approval ?? ""}/${maxUses ?? ""}`))].toSorted().join();
}

/** What an answer says of a request. Throws when two of its regions have it. */
function saidOf(regions: readonly (Region & { kind: string; was?: Terms[]; wider?: true | undefined })[]): string {
  const [one, other] = regions;
  if (other !== undefined) throw new Error("Two regions overlap.");
  if (one === undefined) return "same";
  const was = one.kind === "closed" ? one.terms : (one.was ?? []);
  const is = one.kind === "closed" ? [] : one.terms;
  return `${one.kind}: ${textOf(was)} > ${textOf(is)}${one.wider === true ? " wider" : ""}`;
}

function expected(was: readonly Terms[], is: readonly Terms[]): string {
  if (textOf(was) === textOf(is)) return "same";
  const kind = was.length === 0 ? "opened" : is.length === 0 ? "closed" : "changed";
  const isFree = (terms: readonly Terms[]): boolean => terms.some(({ approval }) => approval === undefined);
  const isWider = kind === "changed" && !isFree(was) && isFree(is);
  return `${kind}: ${textOf(was)} > ${textOf(is)}${isWider ? " wider" : ""}`;
}

/** The first disagreement of an answer with the kernel, over every request of a world. */
async function disagreement(world: RegionWorld, at?: string): Promise<string | undefined> {
  const { opened, closed, changed } = compareGrants(world.before, world.after, at === undefined ? {} : { at });
  const regions: (Region & { kind: string } & Partial<Pick<ChangedRegion, "was" | "wider">>)[] = [
    ...opened.map((region) => ({ ...region, kind: "opened" })),
    ...closed.map((region) => ({ ...region, kind: "closed" })),
    ...changed.map((region) => ({ ...region, kind: "changed" })),
  ];
  const [before, after] = [judgeOf(world.before), judgeOf(world.after)];
  const carried = new Map(regions.map((region) => [region, new Set<string>()]));
  for (const request of requestsOf(world)) {
    const isLate = at === undefined || (parseInstant(request.now) ?? 0) >= (parseInstant(at) ?? 0);
    const [was, is] = isLate ? [await before(request), await after(request)] : [[], []];
    const own = regions.filter((region) => isOf(request, region));
    const [says, should] = [saidOf(own), expected(was.map(termsOf), is.map(termsOf))];
    if (says !== should) return JSON.stringify({ says, should, request });
    for (const region of own) for (const { id } of region.kind === "closed" ? was : is) carried.get(region)?.add(id);
  }
  for (const [region, ids] of carried) {
    const isNamed = [...ids].every((id) => region.by.includes(id));
    if (!isNamed || (world.isWhole && ids.size !== region.by.length))
      return JSON.stringify({ region, carriedBy: [...ids] });
  }
  return undefined;
}

function termsOf({ terms }: Carrier): Terms {
  return terms;
}

const shares = 10;

for (let share = 0; share < shares; share += 1) {
  test(`regions and an enumeration of all requests agree, both ways, and no two regions overlap (${share + 1})`, async () => {
    const worlds = timesOf(5, 10_000);
    for (let number = 0; number < worlds; number += 1) {
      const seed = Number(process.env["TEST_SEED"] ?? 1) * 1_000_000 + share * worlds + number;
      const random = createRandom(seed);
      const world = drawWorld(random);
      const at = random.chance(0.3) ? "2026-01-01T00:00:00.00025Z" : undefined;
      const found = await disagreement(world, at);
      expect(found === undefined ? "" : JSON.stringify({ found, seed, at, world })).toBe("");
    }
  });
}

test("the worlds hold every kind of region", () => {
  const kinds = new Set<string>();
  for (let seed = 0; seed < 200; seed += 1) {
    const { before, after } = drawWorld(createRandom(seed));
    const { opened, closed, changed } = compareGrants(before, after);
    if (opened.length > 0) kinds.add("opened");
    if (closed.length > 0) kinds.add("closed");
    for (const { wider } of changed) kinds.add(wider === true ? "wider" : "changed");
  }
  expect([...kinds].toSorted()).toStrictEqual(["changed", "closed", "opened", "wider"]);
});
