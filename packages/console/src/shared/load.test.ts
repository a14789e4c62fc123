import { expect, test } from "vitest";
import { openPage, refusal, renderHook, settle } from "../../test/page.ts";

/** A page that reads the grants of a tenant. */
async function readGrants(first = "acme") {
  const page = openPage();
  const { useRead } = await import("./load.ts");
  const { session } = await import("./session.ts");
  const read = await renderHook((tenant: string) => useRead("listGrants", { namespaceId: tenant }), first);
  return { ...page, ...read, session };
}

/** A place of `sent`, which the test knows to be there. */
function at<T>(all: readonly T[], place: number): T {
  const one = all[place];
  if (one === undefined) throw new Error(`There are ${all.length}.`);
  return one;
}

test("what is read is shown when it is there, and it is said that it is being read before", async () => {
  const { sent, outputs, now } = await readGrants();
  expect([outputs[0], now()]).toMatchObject(
    [1, 2].map(() => ({ value: undefined, problem: undefined, isLoading: true })),
  );
  expect(sent.map(({ path, search }) => path + search)).toEqual(["/admin/v1/grants?namespaceId=acme"]);
  await at(sent, 0).answer({ grants: ["a"] });
  expect(now()).toMatchObject({ value: { grants: ["a"] }, problem: undefined, isLoading: false });
});

test("while it is read again, what was read stays; nothing is read twice at once for the same", async () => {
  const { sent, now, show } = await readGrants();
  await at(sent, 0).answer({ grants: ["a"] });
  await show("acme");
  expect(sent).toHaveLength(1);
  now().reload();
  await settle();
  expect(sent).toHaveLength(2);
  expect(now()).toMatchObject({ value: { grants: ["a"] }, isLoading: true });
  await at(sent, 1).answer({ grants: ["b"] });
  expect(now()).toMatchObject({ value: { grants: ["b"] }, isLoading: false });
});

test("what could not be read is told beside what was read before, and no longer once it can be read", async () => {
  const { sent, now } = await readGrants();
  await at(sent, 0).answer({ grants: ["a"] });
  now().reload();
  await settle();
  await at(sent, 1).fail();
  expect(now()).toMatchObject({
    value: { grants: ["a"] },
    problem: "The host does not answer.",
    isLoading: false,
  });
  now().reload();
  await settle();
  expect(now()).toMatchObject({ problem: "The host does not answer.", isLoading: true });
  await at(sent, 2).answer({ grants: ["b"] });
  expect(now()).toMatchObject({ value: { grants: ["b"] }, problem: undefined });
});

test("the host is told that no one waits for an answer any more, when something else is read or the page is left", async () => {
  const { sent, now, show, leave } = await readGrants();
  expect(at(sent, 0).signal?.aborted).toBe(false);
  await show("globex");
  expect([at(sent, 0).signal?.aborted, at(sent, 1).signal?.aborted]).toEqual([true, false]);
  await at(sent, 0).fail();
  expect(now()).toMatchObject({ problem: undefined, isLoading: true });
  await leave();
  expect(at(sent, 1).signal?.aborted).toBe(true);
});

test("nothing of one tenant is ever shown in another, not for one drawing", async () => {
  const { sent, outputs, now, show } = await readGrants();
  await at(sent, 0).answer({ grants: ["of acme"] });
  const before = outputs.length;
  await show("other");
  expect(sent.map(({ search }) => search)).toEqual(["?namespaceId=acme", "?namespaceId=other"]);
  expect(outputs.slice(before).map(({ value, isLoading }) => ({ value, isLoading }))).toEqual(
    outputs.slice(before).map(() => ({ value: undefined, isLoading: true })),
  );
  await at(sent, 1).answer({ grants: ["of other"] });
  expect(now().value).toEqual({ grants: ["of other"] });
});

test("nor is a problem of one tenant shown in another", async () => {
  const { sent, outputs, show } = await readGrants();
  await at(sent, 0).answer(refusal("forbidden", "Not acme."), 403);
  expect(outputs.at(-1)).toMatchObject({ problem: "Refused (forbidden): Not acme.", isLoading: false });
  const before = outputs.length;
  await show("other");
  expect(outputs.slice(before).map(({ problem }) => problem)).toEqual(outputs.slice(before).map(() => undefined));
});

for (const { name, late } of [
  { name: "answer", late: (one: { answer(value: unknown): Promise<void> }) => one.answer({ grants: ["of acme"] }) },
  { name: "problem", late: (one: { fail(): Promise<void> }) => one.fail() },
]) {
  test(`an ${name === "answer" ? "answer" : "error"} about one tenant that comes when another is shown is not shown`, async () => {
    const { sent, now, show } = await readGrants();
    await show("other");
    await at(sent, 1).answer({ grants: ["of other"] });
    await late(at(sent, 0));
    expect(now()).toMatchObject({ value: { grants: ["of other"] }, problem: undefined, isLoading: false });
  });

  test(`the same ${name} is not shown when it comes first, nor when one is back where it was asked for`, async () => {
    const { sent, now, show } = await readGrants();
    await show("other");
    await late(at(sent, 0));
    expect(now()).toMatchObject({ value: undefined, problem: undefined, isLoading: true });
    await show("acme");
    expect(now()).toMatchObject({ value: undefined, problem: undefined, isLoading: true });
    await at(sent, 2).answer({ grants: ["newer"] });
    expect(now().value).toEqual({ grants: ["newer"] });
  });
}

test("of two reads of the same the later one counts, in whichever order they are answered", async () => {
  const { sent, now } = await readGrants();
  now().reload();
  await settle();
  await at(sent, 1).answer({ grants: ["new"] });
  await at(sent, 0).answer({ grants: ["old"] });
  expect(now()).toMatchObject({ value: { grants: ["new"] }, isLoading: false });
});

test("an operator who signs in reads everything again, and what comes for the session before is not shown", async () => {
  const { sent, now, session } = await readGrants();
  const operator = (id: string) => ({ operator: { id } }) as unknown as typeof session.current.value;
  session.current.value = operator("two");
  await settle();
  expect(sent).toHaveLength(2);
  // It may say that its session has ended.
  expect(at(sent, 0).signal?.aborted).toBe(false);
  await at(sent, 1).answer({ grants: ["of two"] });
  await at(sent, 0).answer({ grants: ["of one"] });
  expect(now().value).toEqual({ grants: ["of two"] });
});

test("an answer that comes when the page is gone changes nothing", async () => {
  const { sent, outputs, leave } = await readGrants();
  await leave();
  const before = outputs.length;
  await at(sent, 0).answer({ grants: [] });
  expect(outputs).toHaveLength(before);
});
