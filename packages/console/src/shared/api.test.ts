import { expect, test } from "vitest";
import { openPage, refusal, settle } from "../../test/page.ts";

async function openApi() {
  const page = openPage();
  return { ...page, ...(await import("./api.ts")), ...(await import("./session.ts")) };
}

type Current = NonNullable<Awaited<ReturnType<typeof openApi>>["session"]["current"]["value"]>;

const operator = (changes: object): Current =>
  ({ operator: { id: "o", role: "admin", ...changes } }) as unknown as Current;

/** What was rejected, as a value. */
const refused = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "taken",
    (error: unknown) => error,
  );

test("a call has the page's half of the session, and its input in the body or the address", async () => {
  const { sent, request, pageHalf } = await openApi();
  pageHalf.write("half");
  const [listing] = [
    request("listGrants", { namespaceId: "acme", limit: 3, cursor: undefined }),
    refused(request("createSession", { token: "t" })),
  ];
  await settle();
  expect(sent.map(({ path, search, body }) => ({ path, search, body }))).toEqual([
    { path: "/admin/v1/grants", search: "?namespaceId=acme&limit=3", body: undefined },
    { path: "/admin/v1/sessions", search: "", body: { token: "t" } },
  ]);
  expect(sent.map(({ headers }) => headers.get("x-turnpike-console"))).toEqual(["half", "half"]);
  await sent[0]?.answer({ grants: [] });
  expect(await listing).toEqual({ grants: [] });
});

for (const row of [
  { name: "a refusal of the session asks for a sign-in", answer: ["unauthenticated", 401], isLost: true },
  { name: "another refusal does not", answer: ["forbidden", 403], isLost: false },
] as const) {
  test(row.name, async () => {
    const { sent, request, session, messageOf } = await openApi();
    session.current.value = operator({});
    const error = refused(request("listGrants", { namespaceId: "acme" }));
    await settle();
    await sent[0]?.answer(refusal(row.answer[0]), row.answer[1]);
    expect(messageOf(await error)).toBe(`Refused (${row.answer[0]}): No.`);
    expect([session.isLost.value, session.current.value !== undefined]).toEqual([row.isLost, true]);
  });
}

test("a host that does not answer asks for no sign-in", async () => {
  const { sent, request, session, messageOf } = await openApi();
  const error = refused(request("listGrants", { namespaceId: "acme" }));
  await settle();
  await sent[0]?.fail();
  expect([messageOf(await error), session.isLost.value]).toEqual(["The host does not answer.", false]);
});

test("a refusal of the session before, which comes after a sign-in, is not about the new one", async () => {
  const { sent, request, session } = await openApi();
  session.current.value = operator({ id: "before" });
  const late = refused(request("listGrants", { namespaceId: "acme" }));
  await settle();
  session.current.value = operator({ id: "after" });
  await sent[0]?.answer(refusal("unauthenticated"), 401);
  expect(await late).toMatchObject({ code: "unauthenticated" });
  expect(session.isLost.value).toBe(false);
});

test("a sign-in stores the page's half apart from what is known of the operator", async () => {
  const { sent, stored, signIn, session, pageHalf } = await openApi();
  session.isLost.value = true;
  const signing = signIn({ token: "t" });
  await settle();
  await sent[0]?.answer({ ...operator({ id: "new" }), pageSecret: "half" });
  await signing;
  expect([session.current.value, session.isLost.value]).toEqual([operator({ id: "new" }), false]);
  expect([pageHalf.read(), [...stored.values()]]).toEqual(["half", ["half"]]);
});

test("a sign-in that is refused changes nothing", async () => {
  const { sent, signIn, session, pageHalf } = await openApi();
  session.current.value = operator({});
  pageHalf.write("old");
  const error = refused(signIn({ token: "wrong" }));
  await settle();
  await sent[0]?.answer(refusal("forbidden"), 403);
  expect(await error).toMatchObject({ code: "forbidden" });
  expect([session.current.value, pageHalf.read()]).toEqual([operator({}), "old"]);
});

test("signing out forgets both halves, also when no host answers", async () => {
  const { sent, signOut, session, pageHalf } = await openApi();
  session.current.value = operator({});
  pageHalf.write("half");
  const leaving = signOut();
  await settle();
  expect([sent[0]?.headers.get("x-turnpike-console"), session.current.value]).toEqual(["half", operator({})]);
  await sent[0]?.fail();
  await leaving;
  expect([session.current.value, pageHalf.read()]).toEqual([undefined, ""]);
});

test("who may do what depends on the role, and on whether it is about the whole host", async () => {
  const { may, session } = await openApi();
  const routes = ["listEscalations", "listAudit", "createGrant", "createBackup"] as const;
  const mayAs = (who: Current | undefined): boolean[] => {
    session.current.value = who;
    return routes.map((route) => may(route));
  };
  expect({
    stranger: mayAs(undefined),
    reviewer: mayAs(operator({ role: "reviewer" })),
    auditor: mayAs(operator({ role: "auditor" })),
    admin: mayAs(operator({ role: "admin" })),
    "admin of one tenant": mayAs(operator({ role: "admin", tenant: "acme" })),
  }).toEqual({
    stranger: [false, false, false, false],
    reviewer: [true, false, false, false],
    auditor: [true, true, false, false],
    admin: [true, true, true, true],
    "admin of one tenant": [true, true, true, false],
  });
});

test("an error says why, and what is no error is told as a text", async () => {
  const { messageOf } = await openApi();
  expect([messageOf(new Error("Why.")), messageOf("Because.")]).toEqual(["Why.", "Because."]);
});
