import { expect, test } from "vitest";
import { draw } from "../test/drawn.ts";
import { openPage, refusal, settle } from "../test/page.ts";

const operator = { id: "one", role: "admin", actor: { kind: "human", userId: "oona" } };
const session = { operator, host: { isDemo: false } };

/** The console at an address, which has asked who is there. */
async function openConsole(address: string) {
  const page = openPage(address);
  const { App } = await import("./app.tsx");
  const { go } = await import("./shared/place.ts");
  const { session: here } = await import("./shared/session.ts");
  const drawn = await draw(App);
  const [asked] = page.sent;
  if (asked === undefined) throw new Error("It asked nothing.");
  return {
    ...page,
    ...drawn,
    asked,
    here,
    async visit(to: string): Promise<void> {
      go(to);
      await settle();
    },
  };
}

/** The same of an operator who is signed in. */
async function openSignedIn(address: string, role = "admin") {
  const opened = await openConsole(address);
  await opened.asked.answer({ ...session, operator: { ...operator, role } });
  return opened;
}

test("until it is known who is there, nothing is shown but that it loads", async () => {
  const { text, all, asked } = await openConsole("/console/acme/why");
  expect([asked.path, text()]).toEqual(["/admin/v1/session", ""]);
  expect(all("div").map(({ attributes }) => attributes.get("aria-label"))).toEqual(["Loading the console"]);
  await asked.answer(session);
  expect(text()).toContain("Ask about any act.");
});

test("an operator without a session is asked for a token, and sees no screen", async () => {
  const { text, asked, sent } = await openConsole("/console/acme/why");
  await asked.answer(refusal("unauthenticated"), 401);
  expect(text()).toMatch(/^TurnpikeThe gate that every agent passes\.Operator's token/);
  await settle();
  expect(sent.map(({ path }) => path)).toEqual(["/admin/v1/session", "/sign-in/providers"]);
});

for (const { tokens, shown } of [
  { tokens: true, shown: /passes\.Continue with AcmeOperator's token/ },
  { tokens: false, shown: /passes\.Continue with Acme$/ },
])
  test(`and offered the providers that sign operators in${tokens ? "" : ", and them alone where no token counts"}`, async () => {
    const { text, asked, sent } = await openConsole("/console/acme/why");
    await asked.answer(refusal("unauthenticated"), 401);
    await settle();
    const providers = [
      { name: "Acme", console: true, me: false },
      { name: "Beta", console: false, me: true },
    ];
    await sent[1]?.answer({ providers, tokens });
    expect(text()).toMatch(shown);
  });

test("and is told what went wrong", async () => {
  const { text, asked } = await openConsole("/console/acme/why");
  await asked.fail();
  expect(text()).toMatch(/passes\.The host does not answer\.Operator's token/);
});

for (const { address, role, shown, isFramed } of [
  { address: "/console/", role: "admin", shown: "Tenants", isFramed: false },
  {
    address: "/console/acme/%zz",
    role: "admin",
    shown: "No such screenThis address cannot be read.Choose a tenant",
    isFramed: false,
  },
  {
    address: "/console/acme/nowhere",
    role: "admin",
    shown: "No such screenThe menu has those that there are.",
    isFramed: true,
  },
  {
    address: "/console/acme/access",
    role: "reviewer",
    shown: "Not for your roleAn admin can give you another one.",
    isFramed: true,
  },
  { address: "/console/acme/why", role: "admin", shown: "WhyWhat if", isFramed: true },
]) {
  test(`an operator with the role ${role} sees at ${address}: ${shown}`, async () => {
    const { text, all } = await openSignedIn(address, role);
    expect(text()).toContain(shown);
    expect([text().includes("Sign out"), all("main")[0]?.textContent.includes(shown)]).toEqual([isFramed, true]);
  });
}

test("an address that cannot be read leads to the tenants", async () => {
  const { press, location } = await openSignedIn("/console/acme/%zz");
  await press("Choose a tenant");
  expect(location.pathname).toBe("/console/");
});

test("nothing that was typed about one tenant is seen in another", async () => {
  const { text, all, visit, type } = await openSignedIn("/console/acme/why");
  const typed = (): string[] => all("input").map(({ value }) => value);
  const [first] = all("input");
  if (first === undefined) throw new Error("There is no field.");
  await type(first, "agent:of-acme");
  expect(typed()).toContain("agent:of-acme");
  await visit("/console/globex/why");
  expect([text().includes("Ask about any act."), typed().filter(Boolean)]).toEqual([true, []]);
});

test("an answer about one tenant that comes late is not shown in another", async () => {
  const { sent, text, visit } = await openSignedIn("/console/acme/why");
  const late = sent.find(({ path, search }) => path === "/admin/v1/tenants" && search.includes("acme"));
  await visit("/console/globex/why");
  await late?.answer({ tenants: [] });
  expect([late === undefined, text().includes("No such tenant")]).toEqual([false, false]);
});

test("a session that ends leaves the page as it is behind a new sign-in", async () => {
  const { text, all, here, type } = await openSignedIn("/console/acme/why");
  const [first] = all("input");
  if (first === undefined) throw new Error("There is no field.");
  await type(first, "agent:typed");
  expect(text()).not.toContain("Your session has ended");
  here.isLost.value = true;
  await settle();
  expect(text()).toContain("Your session has ended");
  expect(all("input")[0]?.value).toBe("agent:typed");
});

test("another tab's sign-in is this one's too, until the page is left", async () => {
  const { sent, events, here, leave } = await openSignedIn("/console/acme/why");
  const signIn = async (): Promise<number> => {
    const before = sent.length;
    events.dispatchEvent(Object.assign(new Event("storage"), { key: "turnpike-session" }));
    await settle();
    return sent.slice(before).filter(({ path }) => path === "/admin/v1/session").length;
  };
  expect(await signIn()).toBe(1);
  await sent
    .findLast(({ path }) => path === "/admin/v1/session")
    ?.answer({ ...session, operator: { ...operator, id: "two" } });
  expect(here.current.value?.operator.id).toBe("two");
  await leave();
  expect(await signIn()).toBe(0);
});
