import { expect, test } from "vitest";
import { openPage, refusal, settle } from "../../test/page.ts";

async function openStart(address: string) {
  const page = openPage(address);
  return { ...page, ...(await import("./begin.ts")), ...(await import("../shared/session.ts")) };
}

const one = { operator: { id: "one", role: "admin" } };
const two = { operator: { id: "two", role: "admin" } };

test("a page without a code uses the session that there is", async () => {
  const { sent, begin, session } = await openStart("/console/acme/now");
  const beginning = begin();
  await settle();
  expect(sent.map(({ path }) => path)).toEqual(["/admin/v1/session"]);
  await sent[0]?.answer(one);
  expect([await beginning, session.current.value]).toEqual([undefined, one]);
});

test("without a session nothing is wrong, and the page does not ask to sign in again", async () => {
  const { sent, begin, session } = await openStart("/console/acme/now");
  const beginning = begin();
  await settle();
  await sent[0]?.answer(refusal("unauthenticated"), 401);
  expect([await beginning, session.current.value, session.isLost.value]).toEqual([undefined, undefined, false]);
});

test("a host that does not answer is told of", async () => {
  const { sent, begin } = await openStart("/console/acme/now");
  const beginning = begin();
  await settle();
  await sent[0]?.fail();
  expect(await beginning).toBe("The host does not answer.");
});

test("a code becomes a session, and is gone from the address before it is sent", async () => {
  const { sent, location, begin, session } = await openStart("/console/acme/now?a=b#code=once");
  const beginning = begin();
  await settle();
  expect(sent.map(({ path, body }) => ({ path, body }))).toEqual([
    { path: "/admin/v1/sessions", body: { code: "once" } },
  ]);
  expect(location).toMatchObject({ pathname: "/console/acme/now", search: "?a=b", hash: "" });
  await sent[0]?.answer({ ...one, pageSecret: "half" });
  expect([await beginning, session.current.value, sent.length]).toEqual([undefined, one, 1]);
});

test("a page with a used code uses the session that there is", async () => {
  const { sent, begin, session } = await openStart("/console/acme/now#code=used");
  const beginning = begin();
  await settle();
  await sent[0]?.answer(refusal("unauthenticated", "The code was used."), 401);
  await sent[1]?.answer(one);
  await beginning;
  expect([session.current.value, session.isLost.value]).toEqual([one, false]);
});

test("a code that was used is explained only without a session", async () => {
  const { sent, begin } = await openStart("/console/acme/now#code=used");
  const beginning = begin();
  await settle();
  await sent[0]?.answer(refusal("unauthenticated", "The code was used."), 401);
  await sent[1]?.answer(refusal("unauthenticated", "No session."), 401);
  expect(await beginning).toBe("Refused (unauthenticated): The code was used.");
});

test("another tab has signed in as another operator: so has this one", async () => {
  const { sent, followSession, session } = await openStart("/console/acme/now");
  session.current.value = one as unknown as typeof session.current.value;
  session.isLost.value = true;
  const following = followSession();
  await settle();
  await sent[0]?.answer(two);
  await following;
  expect([session.current.value, session.isLost.value]).toEqual([two, false]);
});

test("another tab has signed out: this one asks for a sign-in, and what is typed in it stays", async () => {
  const { sent, followSession, session } = await openStart("/console/acme/now");
  session.current.value = one as unknown as typeof session.current.value;
  const following = followSession();
  await settle();
  await sent[0]?.answer(refusal("unauthenticated"), 401);
  await following;
  expect([session.current.value, session.isLost.value]).toEqual([one, true]);
});
