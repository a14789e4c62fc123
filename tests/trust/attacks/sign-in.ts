import {
  type Misbehavior,
  type SignInProvider,
  signInProviderOfTest,
} from "../../../packages/host/test/sign-in-provider.ts";
import { type TestBrowser, testBrowser } from "../../../packages/host/test/test-browser.ts";
import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { answerTo, change, http, makeCredential, raw, seen } from "./surfaces.ts";
import { carol, openWorld, type World } from "./world.ts";

/** The provider of Acme's people and operators, and one of Globex that an attacker runs. */
let provider: SignInProvider;
let evil: SignInProvider;

const refused = "401 unauthenticated";
const forbidden = "403 permission_denied";
const withCode = "303 with a code";
const admins = ["turnpike-admins"];

/** A browser that follows no redirect by itself. */
const newBrowser = ({ url }: World): TestBrowser =>
  testBrowser(url, (request) => fetch(request, { redirect: "manual" }));

/** What a browser got, in short; a redirect that ends a sign-in says so. */
async function shown(answering: Promise<Response>): Promise<Seen> {
  const response = await answering;
  const { status, headers } = response;
  const text = await response.text();
  const { says } = seen({ status, headers, text, body: jsonIn(text) });
  return { says: headers.get("location")?.includes("#code=") === true ? `${says} with a code` : says, text };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const beginningOf = (to: string, name = "Acme") => `/sign-in?${new URLSearchParams({ to, provider: name }).toString()}`;
const locationOf = (response: Response): string => response.headers.get("location") ?? "";

/** Begins a sign-in, has the provider sign a user in, and returns where it sends the browser back to. */
async function callbackOf(browser: TestBrowser, to = "/me", user: SignInProvider["user"] = { sub: "mallory" }) {
  provider.user = user;
  return locationOf(await browser.open(locationOf(await browser.open(beginningOf(to)))));
}

/** Signs a user in as far as the code that their page would send. */
async function codeOf(world: World, browser: TestBrowser, to = "/me", user?: SignInProvider["user"]): Promise<string> {
  const ended = locationOf(await browser.open(await callbackOf(browser, to, user)));
  const code = new URL(ended).hash.replace("#code=", "");
  world.secrets.add(code);
  return code;
}

/** What a page of the host holds of its session. */
type Half = Record<string, string>;

interface Signed {
  browser: TestBrowser;
  half: Half;
}

/** A person with a session of their own. */
async function personOf(world: World, sub: string, browser = newBrowser(world)): Promise<Signed> {
  const code = await codeOf(world, browser, "/me", { sub });
  return { browser, half: { "x-turnpike-me": await pageOf(world, browser, "/me/v1/session", code) } };
}

/** An operator whom the provider names. */
async function operatorOf(world: World): Promise<Signed> {
  const browser = newBrowser(world);
  const code = await codeOf(world, browser, "/console", { sub: "oscar", groups: admins });
  return { browser, half: { "x-turnpike-console": await pageOf(world, browser, "/admin/v1/sessions", code) } };
}

async function pageOf(world: World, browser: TestBrowser, path: string, code: string): Promise<string> {
  const begun = await browser.send(path, { code });
  const { pageSecret } = (await begun.json()) as { pageSecret?: string };
  if (pageSecret === undefined) throw new Error(`No session begins: ${begun.status}.`);
  world.secrets.add(pageSecret);
  for (const [name, value] of browser.cookies) if (name !== "turnpike-sign-in") world.secrets.add(value);
  return pageSecret;
}

const whoAmI = ({ browser, half }: Signed, headers: Half = {}) =>
  shown(browser.send("/me/v1/session", undefined, { ...half, ...headers }));

/** An answer of the provider that is wrong, beside the same from a provider that behaves. */
function wrongAnswer(name: string, misbehavior: Misbehavior): Attack {
  const enter = async (world: World, wrong: Misbehavior) => {
    const browser = newBrowser(world);
    provider.misbehavior = wrong;
    try {
      return await shown(browser.open(await callbackOf(browser)));
    } finally {
      provider.misbehavior = {};
    }
  };
  return attack({
    name: `An attacker signs in with ${name}`,
    surface: "HTTP",
    attack: (world) => enter(world, misbehavior),
    held: "400",
    control: (world) => enter(world, {}),
    succeeds: withCode,
  });
}

/** A user whom the provider knows, and who may not sign in. */
function wrongUser(name: string, to: string, user: SignInProvider["user"], right: SignInProvider["user"]): Attack {
  const enter = async (world: World, who: SignInProvider["user"]) => {
    const browser = newBrowser(world);
    return shown(browser.open(await callbackOf(browser, to, who)));
  };
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => enter(world, user),
    held: "403",
    control: (world) => enter(world, right),
    succeeds: withCode,
  });
}

/** A link that would have a sign-in lead somewhere else. */
function leadingTo(to: string): Attack {
  const open = (world: World, where: string) => shown(newBrowser(world).open(beginningOf(where)));
  return attack({
    name: `A link has a sign-in lead to \`${JSON.stringify(to)}\``,
    surface: "HTTP",
    attack: (world) => open(world, to),
    held: "400",
    control: (world) => open(world, "/me"),
    succeeds: "303",
  });
}

/** What a page of another origin has the browser of a person send, beside their own page. */
function crossSite(name: string, path: string, wrong: (half: Half) => Half, held = forbidden): Attack {
  const bodyOf = (id: string) => (path === "/sign-out" ? {} : { id });
  return attack({
    name,
    surface: "HTTP",
    async prepare(world) {
      const person = await personOf(world, "alice");
      const answer = await person.browser.send("/me/v1/sessions", undefined, person.half);
      const { sessions } = (await answer.json()) as { sessions: { id: string; isThis: boolean }[] };
      return { person, id: sessions.find(({ isThis }) => isThis)?.id ?? "" };
    },
    attack: (_world, { person: { browser, half }, id }) => shown(browser.send(path, bodyOf(id), wrong(half))),
    held,
    control: (_world, { person: { browser, half }, id }) => shown(browser.send(path, bodyOf(id), half)),
    succeeds: "200",
  });
}

/** A logout token that is wrong, beside one that the provider sends. */
function wrongLogout(name: string, signed: () => Promise<string>): Attack {
  const post = (world: World, token: string) =>
    shown(
      fetch(`${world.url}/sign-in/logout`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ logout_token: token }).toString(),
      }),
    );
  return attack({
    name: `An attacker ends the sessions of a person with ${name}`,
    surface: "HTTP",
    prepare: (world) => personOf(world, "alice"),
    attack: async (world) => post(world, await signed()),
    held: "400 invalid_request",
    control: async (world) => post(world, await provider.signLogout({ sub: "alice" })),
    succeeds: "200",
  });
}

/** What a person asks of another one's, beside the one whose it is. */
function ofAnother(
  name: string,
  path: string,
  bodyOf: (world: World, hers: Signed) => Promise<object>,
  succeeds = "200",
): Attack {
  return attack({
    name,
    surface: "HTTP",
    async prepare(world) {
      const [hers, his] = [await personOf(world, "alice"), await personOf(world, "bob")];
      return { hers, his, body: await bodyOf(world, hers) };
    },
    attack: (_world, { his: { browser, half }, body }) => shown(browser.send(path, body, half)),
    held: "404 not_found",
    control: (_world, { hers: { browser, half }, body }) => shown(browser.send(path, body, half)),
    succeeds,
  });
}

async function sessionIdOf({ browser, half }: Signed): Promise<string> {
  const answer = await browser.send("/me/v1/sessions", undefined, half);
  const { sessions } = (await answer.json()) as { sessions: { id: string; isThis: boolean }[] };
  return sessions.find(({ isThis }) => isThis)?.id ?? "";
}

let amounts = 1_000_000;

/** An escalation about a payment with Alice's authority. */
async function escalated(world: World): Promise<{ id: string; ask: string }> {
  amounts += 1;
  const answer = await answerTo(world, "/v1/tools/invoke", {
    as: "assistant",
    headers: { "x-trace-id": "t" },
    body: {
      id: world.fresh("call"),
      tool: "bank.pay",
      arguments: { to: "vault", amount: amounts },
      requestedAt: "2026-01-01T00:00:00Z",
      traceId: "t",
    },
  });
  const { details } = (answer.body as { error: { details: { escalationId: string; requestHash: string } } }).error;
  return { id: details.escalationId, ask: details.requestHash };
}

/** A token on the pages of people, which only their sessions open. */
function tokenOnPage(name: string, as: "assistant" | "alice" | "admin"): Attack {
  return attack({
    name: `${name} reads what waits for a person with it`,
    surface: "HTTP",
    prepare: (world) => personOf(world, "alice"),
    attack: (world) => shown(newBrowser(world).send("/me/v1/questions", undefined, bearer(world.tokens[as]))),
    held: refused,
    control: (_world, { browser, half }) => shown(browser.send("/me/v1/questions", undefined, half)),
    succeeds: "200",
  });
}

const bearer = (token: string): Half => ({ authorization: `Bearer ${token}` });

const rows: readonly Attack[] = [
  attack({
    name: "An attacker has another browser end the sign-in that they began",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, callback: await callbackOf(browser) };
    },
    attack: (world, { callback }) => shown(newBrowser(world).open(callback)),
    held: "400",
    control: (_world, { browser, callback }) => shown(browser.open(callback)),
    succeeds: withCode,
  }),
  attack({
    name: "An attacker has a browser that is about to sign in end their own sign-in instead",
    surface: "HTTP",
    async prepare(world) {
      const [browser, victim] = [newBrowser(world), newBrowser(world)];
      await victim.open(beginningOf("/me"));
      return { browser, victim, callback: await callbackOf(browser) };
    },
    attack: (_world, { victim, callback }) => shown(victim.open(callback)),
    held: "400",
    control: (_world, { browser, callback }) => shown(browser.open(callback)),
    succeeds: withCode,
  }),
  attack({
    name: "An attacker gives the code that ends their sign-in to another browser",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      const victim = newBrowser(world);
      await victim.open(beginningOf("/me"));
      return { browser, victim, code: await codeOf(world, browser) };
    },
    attack: (_world, { victim, code }) => shown(victim.send("/me/v1/session", { code })),
    held: refused,
    control: async (_world, { browser, code }) => ({
      ...(await shown(browser.send("/me/v1/session", { code }))),
      text: "",
    }),
    succeeds: "201",
  }),
  attack({
    name: "A page of another site begins a session of its own choice in a browser",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, code: await codeOf(world, browser) };
    },
    attack: (_world, { browser, code }) =>
      shown(browser.send("/me/v1/session", { code }, { origin: "https://evil.example" })),
    held: forbidden,
    control: async (_world, { browser, code }) => ({
      ...(await shown(browser.send("/me/v1/session", { code }))),
      text: "",
    }),
    succeeds: "201",
  }),
  attack({
    name: "An attacker uses the code that ended a sign-in a second time",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      const code = await codeOf(world, browser);
      await pageOf(world, browser, "/me/v1/session", code);
      return { browser, code };
    },
    attack: (_world, { browser, code }) => shown(browser.send("/me/v1/session", { code })),
    held: refused,
    control: async (world) => whoAmI(await personOf(world, "mallory")),
    succeeds: "200",
  }),
  attack({
    name: "An attacker fixes the session of a person by a cookie that they chose",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      const chosen = `${"0".repeat(16)}_${"0".repeat(64)}`;
      browser.cookies.set("turnpike-me", chosen);
      return { chosen, person: await personOf(world, "alice", browser) };
    },
    attack: (world, { chosen, person: { half } }) => {
      const browser = newBrowser(world);
      browser.cookies.set("turnpike-me", chosen);
      return whoAmI({ browser, half });
    },
    held: refused,
    control: (_world, { person }) => whoAmI(person),
    succeeds: "200",
  }),
  attack({
    name: "A neighbour of this site plants a second cookie of a sign-in",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, callback: await callbackOf(browser) };
    },
    attack: (_world, { browser, callback }) => {
      const [own] = [...browser.cookies].map(([name, value]) => `${name}=${value}`);
      return shown(browser.open(callback, { cookie: `turnpike-sign-in=planted; ${own}` }));
    },
    held: "400 invalid_request",
    control: (_world, { browser, callback }) => shown(browser.open(callback)),
    succeeds: withCode,
  }),
  attack({
    name: "An attacker opens the address again that ended a sign-in, in the browser that it was for",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      const callback = await callbackOf(browser);
      await browser.open(callback);
      return { browser, callback };
    },
    attack: (_world, { browser, callback }) => shown(browser.open(callback)),
    held: "400",
    control: async (_world, { browser }) => shown(browser.open(await callbackOf(browser))),
    succeeds: withCode,
  }),
  attack({
    name: "Twenty requests race to end one sign-in",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      await codeOf(world, browser);
      return { browser, callback: await callbackOf(browser) };
    },
    attack: async (_world, { browser, callback }) =>
      together(await Promise.all(Array.from({ length: 20 }, () => shown(browser.open(callback))))),
    held: `1 x ${withCode}, 19 x 400`,
    leaves: ["one_time_codes", "people"],
    control: async (_world, { browser }) => shown(browser.open(await callbackOf(browser))),
    succeeds: withCode,
  }),
  attack({
    name: "An attacker opens the address that ends a sign-in with nothing in it",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, callback: await callbackOf(browser) };
    },
    attack: (_world, { browser }) => shown(browser.open("/sign-in/callback")),
    held: "400",
    control: (_world, { browser, callback }) => shown(browser.open(callback)),
    succeeds: withCode,
  }),
  wrongAnswer("an ID token that a foreign key signed", { isForeignKey: true }),
  wrongAnswer("an ID token that nothing signed", { isUnsigned: true }),
  wrongAnswer("an ID token for another audience", { claims: { aud: "another" } }),
  wrongAnswer("an ID token for two audiences, for which another client asked", {
    claims: { aud: ["turnpike", "another"], azp: "another" },
  }),
  wrongAnswer("an ID token that has the nonce of another sign-in", { claims: { nonce: "0".repeat(64) } }),
  wrongAnswer("an ID token that has no nonce", { claims: { nonce: undefined } }),
  wrongAnswer("an ID token of another issuer", { claims: { iss: "https://id.example" } }),
  wrongAnswer("an ID token that expired", { claims: { exp: 1_700_000_000 } }),
  wrongAnswer("an ID token that names no one", { claims: { sub: undefined } }),
  wrongAnswer("an answer that says that another provider gave it", { answer: { iss: "https://id.example" } }),
  wrongAnswer("the state of another sign-in", { answer: { state: "0".repeat(64) } }),
  wrongAnswer("a code that the provider never gave", { answer: { code: "made-up" } }),
  attack({
    name: "A provider that an attacker runs sends the browser on to another provider with its own state",
    surface: "HTTP",
    async attack(world) {
      const browser = newBrowser(world);
      const mixed = new URL(`${provider.issuer}/authorize`);
      mixed.search = new URL(locationOf(await browser.open(beginningOf("/me", "Globex")))).search;
      provider.user = { sub: "alice" };
      return shown(browser.open(locationOf(await browser.open(mixed.href))));
    },
    held: "400",
    async control(world) {
      const browser = newBrowser(world);
      evil.user = { sub: "eve" };
      return shown(
        browser.open(locationOf(await browser.open(locationOf(await browser.open(beginningOf("/me", "Globex")))))),
      );
    },
    succeeds: withCode,
  }),
  attack({
    name: "An attacker rewrites the cookie of a person's sign-in so that it ends as an operator's",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, callback: await callbackOf(browser, "/me", { sub: "mallory", groups: admins }) };
    },
    attack: (_world, { browser, callback }) => {
      const [secret, until, name] = (browser.cookies.get("turnpike-sign-in") ?? "").split(".");
      const to = Buffer.from("/console").toString("base64url");
      return shown(browser.open(callback, { cookie: `turnpike-sign-in=${[secret, until, name, to].join(".")}` }));
    },
    held: "400",
    control: (_world, { browser, callback }) => shown(browser.open(callback)),
    succeeds: withCode,
  }),
  attack({
    name: "An attacker chooses by the host header where the provider sends the browser back to",
    surface: "HTTP",
    attack: (world) => raw(world, beginAt("evil.example")),
    held: "400 invalid_request",
    control: (world) => raw(world, beginAt(new URL(world.url).host)),
    succeeds: "303",
  }),
  ...[
    "//evil.example/me",
    "https://evil.example/me",
    "/\\evil.example/me",
    "/console/../../evil",
    "/console/%2e%2e/admin/v1/session",
    "/me\r\nset-cookie: turnpike-me=chosen",
    "/admin/v1/session",
    "/me#code=chosen",
    "javascript:alert(1)",
    "/sign-in?to=/me",
  ].map((to) => leadingTo(to)),
  wrongUser(
    "A user of the provider signs in to the console with a group whose name only begins like that of operators",
    "/console",
    { sub: "mallory", groups: ["turnpike-admins-2"] },
    { sub: "oscar", groups: admins },
  ),
  wrongUser(
    "A user of the provider signs in to the console with the name of a group inside another text",
    "/console",
    { sub: "mallory", groups: "turnpike-admins staff" },
    { sub: "oscar", groups: admins },
  ),
  wrongUser("A user signs in whose name leads out of the folder of their files", "/me", { sub: ".." }, { sub: "bob" }),
  wrongUser("A user signs in whose name has a slash", "/me", { sub: "bob/alice" }, { sub: "bob" }),
  wrongUser(
    "A user signs in whose name only looks like that of another",
    "/me",
    { sub: "alice\u200B" },
    { sub: "alice" },
  ),
  attack({
    name: "An operator's session is used on the pages of a person",
    surface: "HTTP",
    prepare: (world) => operatorOf(world),
    attack: (_world, { browser, half }) => {
      const cookie = `turnpike-me=${browser.cookies.get("turnpike")}`;
      const page = half["x-turnpike-console"] ?? "";
      return shown(browser.send("/me/v1/session", undefined, { cookie, "x-turnpike-me": page }));
    },
    held: refused,
    control: (_world, { browser, half }) => shown(browser.send("/admin/v1/session", undefined, half)),
    succeeds: "200",
  }),
  attack({
    name: "A person's session is used on the console",
    surface: "console",
    prepare: (world) => personOf(world, "alice"),
    attack: (_world, { browser, half }) => {
      const cookie = `turnpike=${browser.cookies.get("turnpike-me")}`;
      const page = half["x-turnpike-me"] ?? "";
      return shown(browser.send("/admin/v1/session", undefined, { cookie, "x-turnpike-console": page }));
    },
    held: forbidden,
    control: (_world, person) => whoAmI(person),
    succeeds: "200",
  }),
  attack({
    name: "The code of an operator's sign-in begins a session on the pages of a person",
    surface: "HTTP",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, code: await codeOf(world, browser, "/console", { sub: "oscar", groups: admins }) };
    },
    attack: (_world, { browser, code }) => shown(browser.send("/me/v1/session", { code })),
    held: refused,
    control: async (_world, { browser, code }) => ({
      ...(await shown(browser.send("/admin/v1/sessions", { code }))),
      text: "",
    }),
    succeeds: "201",
  }),
  attack({
    name: "The code of a person's sign-in begins a session on the console",
    surface: "console",
    async prepare(world) {
      const browser = newBrowser(world);
      return { browser, code: await codeOf(world, browser, "/me", { sub: "alice", groups: admins }) };
    },
    attack: (_world, { browser, code }) => shown(browser.send("/admin/v1/sessions", { code })),
    held: forbidden,
    control: async (_world, { browser, code }) => ({
      ...(await shown(browser.send("/me/v1/session", { code }))),
      text: "",
    }),
    succeeds: "201",
  }),
  tokenOnPage("An agent that has a token", "assistant"),
  tokenOnPage("A person's program that has a token of theirs", "alice"),
  tokenOnPage("An operator who has a token", "admin"),
  attack({
    name: "An attacker who has the cookie of a person's session and nothing of its page reads who they are",
    surface: "HTTP",
    prepare: (world) => personOf(world, "alice"),
    attack: (_world, { browser }) => whoAmI({ browser, half: {} }),
    held: refused,
    control: (_world, person) => whoAmI(person),
    succeeds: "200",
  }),
  attack({
    name: "A page of another site reads who the person in the browser is",
    surface: "HTTP",
    prepare: (world) => personOf(world, "alice"),
    attack: (_world, person) => whoAmI(person, { "sec-fetch-site": "cross-site" }),
    held: forbidden,
    control: (_world, person) => whoAmI(person, { "sec-fetch-site": "same-origin" }),
    succeeds: "200",
  }),
  crossSite("A page of another origin signs a person out", "/sign-out", (half) => ({
    ...half,
    origin: "https://evil.example",
  })),
  crossSite("A form of another site signs a person out with the cookie alone", "/sign-out", () => ({}), refused),
  crossSite("A page of another origin ends a session of a person", "/me/v1/sessions/end", (half) => ({
    ...half,
    origin: "https://evil.example",
  })),
  crossSite("A page on another port of this machine ends a session of a person", "/me/v1/sessions/end", (half) => ({
    ...half,
    origin: "http://127.0.0.1:1",
  })),
  ofAnother("A person ends the session of another", "/me/v1/sessions/end", async (_world, hers) => ({
    id: await sessionIdOf(hers),
  })),
  ofAnother(
    "A person answers an escalation about the authority of another",
    "/me/v1/questions/answer",
    async (world) => ({ ...(await escalated(world)), answer: "allow" }),
    "200 approved",
  ),
  attack({
    name: "The agent that asked answers in the name of the person whose authority it needs",
    surface: "HTTP",
    async prepare(world) {
      return { person: await personOf(world, "alice"), body: { ...(await escalated(world)), answer: "allow" } };
    },
    attack: (world, { body }) =>
      shown(newBrowser(world).send("/me/v1/questions/answer", body, bearer(world.tokens.assistant))),
    held: refused,
    control: (_world, { person: { browser, half }, body }) =>
      shown(browser.send("/me/v1/questions/answer", body, half)),
    succeeds: "200 approved",
  }),
  attack({
    name: "A person allows something else than what they were shown",
    surface: "HTTP",
    async prepare(world) {
      const [one, other] = [await escalated(world), await escalated(world)];
      return { person: await personOf(world, "alice"), one, other };
    },
    attack: (_world, { person: { browser, half }, one, other }) =>
      shown(browser.send("/me/v1/questions/answer", { id: one.id, ask: other.ask, answer: "allow" }, half)),
    held: "409 conflict",
    control: (_world, { person: { browser, half }, one }) =>
      shown(browser.send("/me/v1/questions/answer", { ...one, answer: "allow" }, half)),
    succeeds: "200 approved",
  }),
  attack({
    name: "A person names another person when they read what was done for them",
    surface: "HTTP",
    prepare: (world) => personOf(world, "bob"),
    attack: (_world, { browser, half }) =>
      shown(browser.send("/me/v1/trail?principal=human:alice&namespaceId=globex", undefined, half)),
    held: "400 invalid_request",
    control: (_world, { browser, half }) => shown(browser.send("/me/v1/trail", undefined, half)),
    succeeds: "200",
  }),
  attack({
    name: "A person whom an operator revoked goes on with their session",
    surface: "HTTP",
    async prepare(world) {
      const sub = world.fresh("leaver");
      const person = await personOf(world, sub);
      await change(world, "people/revoke", { namespaceId: "acme", principal: { kind: "human", userId: sub } });
      return person;
    },
    attack: (_world, person) => whoAmI(person),
    held: refused,
    control: async (world) => whoAmI(await personOf(world, "alice")),
    succeeds: "200",
  }),
  attack({
    name: "A person whom an operator revoked signs in again",
    surface: "HTTP",
    async prepare(world) {
      const sub = world.fresh("leaver");
      await personOf(world, sub);
      await change(world, "people/revoke", { namespaceId: "acme", principal: { kind: "human", userId: sub } });
      return sub;
    },
    async attack(world, sub) {
      const browser = newBrowser(world);
      return shown(browser.open(await callbackOf(browser, "/me", { sub })));
    },
    held: "403",
    async control(world, sub) {
      await change(world, "people/restore", { namespaceId: "acme", principal: { kind: "human", userId: sub } });
      const browser = newBrowser(world);
      return shown(browser.open(await callbackOf(browser, "/me", { sub })));
    },
    succeeds: withCode,
  }),
  wrongLogout("a logout token that a foreign key signed", () => provider.signLogout({ sub: "alice" }, true)),
  wrongLogout("a logout token for another client", () => provider.signLogout({ sub: "alice", aud: "another" })),
  wrongLogout("a logout token of another provider", () => provider.signLogout({ sub: "alice", iss: evil.issuer })),
  wrongLogout("an ID token", () => provider.signLogout({ sub: "alice", nonce: "n", events: undefined })),
  wrongLogout("a logout token from long ago", () => provider.signLogout({ sub: "alice", iat: 1_700_000_000 })),
  attack({
    name: "An admin makes a token for the name of a user who signs in, as if the provider had",
    surface: "HTTP",
    attack: (world) => http(world, "/admin/v1/credentials", { as: "admin", body: credential({ signedIn: true }) }),
    held: "400 invalid_request",
    async control(world) {
      await makeCredential(world, credential({}));
      return { says: "made", text: "" };
    },
    succeeds: "made",
  }),
  attack({
    name: "An admin gets a token for the credential of a user who signs in, by rotating it",
    surface: "HTTP",
    async prepare(world) {
      await personOf(world, "alice");
      const found = await world.host.stores.people.find("acme", { kind: "human", userId: "alice" });
      return { signedIn: found?.credentialId ?? "", made: (await makeCredential(world, credential({}))).id };
    },
    attack: (world, { signedIn }) =>
      http(world, "/admin/v1/credentials/rotate", { as: "admin", body: { id: signedIn } }),
    held: "409 conflict",
    async control(world, { made }) {
      const rotated = await change<{ token: string }>(world, "credentials/rotate", { id: made });
      world.secrets.add(rotated.token);
      return { says: "rotated", text: "" };
    },
    succeeds: "rotated",
  }),
];

function beginAt(host: string): string {
  return `GET ${beginningOf("/me")} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
}

function credential(more: object): object {
  return { namespaceId: "acme", access: { actor: carol, owner: carol, purposes: ["work"], ...more } };
}

export const signingIn: Group = {
  name: "signing in",
  async open() {
    [provider, evil] = [await signInProviderOfTest({ sub: "mallory" }), await signInProviderOfTest({ sub: "eve" })];
    const operators = [{ claim: "groups", value: "turnpike-admins", role: "admin", tenant: "acme" }];
    return openWorld({
      config: {
        signIn: [
          { issuer: provider.issuer, clientId: "turnpike", name: "Acme", people: { tenant: "acme" }, operators },
          { issuer: evil.issuer, clientId: "turnpike", name: "Globex", people: { tenant: "globex" } },
        ],
      },
    });
  },
  attacks: rows,
};
