import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { answerTo, change, http, makeCredential, newOperator, seen, type Sent } from "./surfaces.ts";
import { carol, done, grantBody, openWorld, type Person, type World } from "./world.ts";

const forbidden = "403 permission_denied";
const refused = "401 unauthenticated";

/** Both halves of a session, as the console's page sends them. */
type Halves = Record<"cookie" | "x-turnpike-console", string>;

/** Begins a session. */
async function signIn(world: World, body: object): Promise<Halves> {
  const { headers, body: begun } = await done(answerTo(world, "/admin/v1/sessions", { body }));
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  const { pageSecret } = begun as { pageSecret: string };
  world.secrets.add(cookie.split("=")[1] ?? "");
  world.secrets.add(pageSecret);
  return { cookie, "x-turnpike-console": pageSecret };
}

const session = (world: World, as: Person = "acmeAdmin") => signIn(world, { token: world.tokens[as] });

/** A code that begins a session. */
async function codeOf(world: World, as: Person = "acmeAdmin"): Promise<string> {
  const { code } = (await done(answerTo(world, "/admin/v1/codes", { as, body: {} }))).body as { code: string };
  world.secrets.add(code);
  return code;
}

/** A change by a session, with something wrong about it. */
function bySession(name: string, wrong: (world: World, halves: Halves) => Sent["headers"], held = forbidden): Attack {
  const send = (world: World, headers: Sent["headers"]) =>
    http(world, "/admin/v1/grants", {
      headers: { ...headers },
      body: grantBody(world.fresh("grant"), "files/notes"),
    });
  return attack({
    name,
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, halves) => send(world, wrong(world, halves)),
    held,
    control: (world, halves) => send(world, { ...halves, origin: world.url, "sec-fetch-site": "same-origin" }),
    succeeds: "201",
  });
}

const whoAmI = (world: World, headers: Partial<Halves>, path = "/admin/v1/session"): Promise<Seen> =>
  http(world, path, { headers: { ...headers } });

/** What a server on another port of this machine does with the cookie, which browsers send there too. */
function byCookieAlone(name: string, path: string, body?: object): Attack {
  const send = (world: World, headers: Partial<Halves>) => http(world, path, { body, headers: { ...headers } });
  return attack({
    name: `An attacker who has the cookie of a session and nothing of its page ${name}`,
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, { cookie }) => send(world, { cookie }),
    held: refused,
    control: (world, halves) => send(world, halves),
    succeeds: "200",
  });
}

/** The same with what a credential left behind. */
function leftBehind(name: string, send: (world: World, id: string, headers: Partial<Halves>) => Promise<Seen>): Attack {
  return attack({
    name: `An attacker who has the cookie of a session and nothing of its page ${name}`,
    surface: "console",
    async prepare(world) {
      const access = { actor: carol, owner: carol, purposes };
      const { id } = await makeCredential(world, { namespaceId: "acme", access });
      return { id, halves: await session(world) };
    },
    attack: (world, { id, halves: { cookie } }) => send(world, id, { cookie }),
    held: refused,
    control: (world, { id, halves }) => send(world, id, halves),
    succeeds: "200",
  });
}

/** The caller that finds a browser open, or reads both halves of its session, makes something that outlasts it. */
function outlasting(
  name: string,
  path: string,
  bodyOf: (made: { own: string; agent: string }) => object,
  succeeds: string,
) {
  const send = (world: World, headers: Halves, body: object) =>
    answerTo(world, `/admin/v1/credentials${path}`, { headers, body });
  return attack({
    name: `A session ${name}, for a token that outlasts it`,
    surface: "console",
    async prepare(world) {
      const { id: own, token } = await makeCredential(world, { namespaceId: "operators", access: operatorOfAll });
      const agent = await makeCredential(world, {
        namespaceId: "acme",
        access: { actor: carol, owner: carol, purposes },
      });
      return { token, halves: await signIn(world, { token }), body: bodyOf({ own, agent: agent.id }) };
    },
    attack: async (world, { halves, body }) => seen(await send(world, halves, body)),
    held: forbidden,
    async control(world, { token, halves, body }) {
      const { status, body: made } = await send(world, halves, { ...body, currentToken: token });
      world.secrets.add((made as { token: string }).token);
      return { says: `${status}`, text: "" };
    },
    succeeds,
  });
}

const purposes = ["operate"];
const operatorOfAll = { actor: carol, owner: carol, purposes, admin: true };

/** The cookie of an operator's session on a path that is for agents. */
function elsewhere(path: string): Attack {
  return attack({
    name: `The cookie of an operator's session is sent to ${path}`,
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, halves) => whoAmI(world, halves, path),
    held: refused,
    control: (world, halves) => whoAmI(world, halves),
    succeeds: "200",
  });
}

const rows: readonly Attack[] = [
  bySession(
    "Another site sends a form to the console's host: nothing of the page",
    (_world, { cookie }) => ({ cookie }),
    refused,
  ),
  bySession("Another site sends a change with its own origin", (_world, halves) => ({
    ...halves,
    origin: "https://evil.example",
  })),
  bySession("A page without an origin sends a change: the origin is null", (_world, halves) => ({
    ...halves,
    origin: "null",
  })),
  bySession("A host whose name begins like this one sends a change", ({ url }, halves) => ({
    ...halves,
    origin: `${url}.evil.example`,
  })),
  bySession("A page on another port of this machine sends a change", (_world, halves) => ({
    ...halves,
    origin: "http://127.0.0.1:1",
  })),
  bySession("A browser says that another site asked", (_world, halves) => ({
    ...halves,
    "sec-fetch-site": "cross-site",
  })),
  bySession("A browser says that a neighbour of this site asked", (_world, halves) => ({
    ...halves,
    "sec-fetch-site": "same-site",
  })),
  bySession(
    "Another site sends the change as a form's text, which needs no permission of the browser",
    (_world, { cookie }) => ({ cookie, "content-type": "text/plain" }),
    refused,
  ),
  bySession(
    "An attacker puts the half of their own page beside the cookie of an admin",
    (world, { cookie }) => ({ cookie, "x-turnpike-console": world.fresh("half") }),
    refused,
  ),
  byCookieAlone("reads who the operator is", "/admin/v1/session"),
  byCookieAlone("lists grants", "/admin/v1/grants?namespaceId=acme"),
  byCookieAlone("ends the session", "/admin/v1/sessions/end", {}),
  leftBehind("reads what a credential left behind", (world, id, headers) =>
    http(world, `/admin/v1/credentials/${id}`, { headers: { ...headers } }),
  ),
  leftBehind("ends all that a credential left behind", (world, id, headers) =>
    http(world, "/admin/v1/credentials/revoke", { headers: { ...headers }, body: { id, andEverything: true } }),
  ),
  outlasting("rotates its own credential", "/rotate", ({ own }) => ({ id: own }), "200"),
  outlasting("rotates the credential of an agent", "/rotate", ({ agent }) => ({ id: agent }), "200"),
  outlasting("makes an operator", "", () => ({ namespaceId: "operators", access: operatorOfAll }), "201"),
  elsewhere("/v1/reach"),
  elsewhere("/mcp"),
  elsewhere("/access/v1/evaluation"),
  elsewhere("/whoami"),
  attack({
    name: "An attacker fixes the session of an operator by a cookie that they chose",
    surface: "console",
    prepare: (world) => Promise.resolve(`turnpike=${world.fresh("chosen")}`),
    async attack(world, cookie) {
      const { headers } = await done(
        answerTo(world, "/admin/v1/sessions", { body: { token: world.tokens.acmeAdmin }, headers: { cookie } }),
      );
      world.secrets.add((headers.get("set-cookie") ?? "").split(/[=;]/)[1] ?? "");
      return whoAmI(world, { cookie });
    },
    held: refused,
    leaves: ["sessions"],
    control: async (world) => whoAmI(world, await session(world)),
    succeeds: "200",
  }),
  attack({
    name: "An attacker sends two cookies of sessions, of which one is theirs",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, halves) => whoAmI(world, { ...halves, cookie: `turnpike=0; ${halves.cookie}` }),
    held: "400 invalid_request",
    control: (world, halves) => whoAmI(world, { ...halves, cookie: `other=0; ${halves.cookie}` }),
    succeeds: "200",
  }),
  attack({
    name: "An agent signs in to the console with its token",
    surface: "console",
    attack: (world) => http(world, "/admin/v1/sessions", { body: { token: world.tokens.alice } }),
    held: forbidden,
    control: (world) => http(world, "/admin/v1/sessions", { body: { token: world.tokens.acmeAuditor } }),
    succeeds: "201",
  }),
  attack({
    name: "Another site signs a browser in as another party",
    surface: "console",
    attack: (world) =>
      http(world, "/admin/v1/sessions", {
        body: { token: world.tokens.acmeAuditor },
        headers: { origin: "https://evil.example" },
      }),
    held: forbidden,
    control: (world) =>
      http(world, "/admin/v1/sessions", { body: { token: world.tokens.acmeAuditor }, headers: { origin: world.url } }),
    succeeds: "201",
  }),
  attack({
    name: "An attacker uses a code of a link a second time",
    surface: "console",
    async prepare(world) {
      const code = await codeOf(world);
      await signIn(world, { code });
      return code;
    },
    attack: (world, code) => http(world, "/admin/v1/sessions", { body: { code } }),
    held: refused,
    control: async (world) => http(world, "/admin/v1/sessions", { body: { code: await codeOf(world) } }),
    succeeds: "201",
  }),
  attack({
    name: "Twenty browsers race for one code",
    surface: "console",
    prepare: (world) => codeOf(world),
    attack: async (world, code) =>
      together(
        await Promise.all(Array.from({ length: 20 }, () => http(world, "/admin/v1/sessions", { body: { code } }))),
      ),
    held: "1 x 201, 19 x 401 unauthenticated",
    leaves: ["sessions", "one_time_codes"],
    control: async (world) => http(world, "/admin/v1/sessions", { body: { code: await codeOf(world) } }),
    succeeds: "201",
  }),
  attack({
    name: "A session makes a code, to outlive its twelve hours",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, headers) => http(world, "/admin/v1/codes", { headers, body: {} }),
    held: forbidden,
    control: (world) => http(world, "/admin/v1/codes", { as: "acmeAdmin", body: {} }),
    succeeds: "201",
  }),
  attack({
    name: "An attacker uses a session whose credential was revoked",
    surface: "console",
    async prepare(world) {
      const { id, token } = await newOperator(world);
      const halves = await signIn(world, { token });
      await change(world, "credentials/revoke", { id });
      return halves;
    },
    attack: (world, halves) => whoAmI(world, halves),
    held: refused,
    control: async (world) => whoAmI(world, await session(world)),
    succeeds: "200",
  }),
  attack({
    name: "An attacker uses a session whose credential got another token",
    surface: "console",
    async prepare(world) {
      const { id, token } = await newOperator(world);
      const halves = await signIn(world, { token });
      const rotated = await change<{ token: string }>(world, "credentials/rotate", { id });
      world.secrets.add(rotated.token);
      return { halves, token: rotated.token };
    },
    attack: (world, { halves }) => whoAmI(world, halves),
    held: refused,
    control: (world, { token }) => http(world, "/admin/v1/session", { token }),
    succeeds: "200",
  }),
  attack({
    name: "An attacker uses a code that was made before the token was rotated",
    surface: "console",
    async prepare(world) {
      const { id, token } = await newOperator(world);
      const { code } = (await done(answerTo(world, "/admin/v1/codes", { token, body: {} }))).body as { code: string };
      world.secrets.add(code);
      world.secrets.add((await change<{ token: string }>(world, "credentials/rotate", { id })).token);
      return code;
    },
    attack: (world, code) => http(world, "/admin/v1/sessions", { body: { code } }),
    held: refused,
    control: async (world) => http(world, "/admin/v1/sessions", { body: { code: await codeOf(world) } }),
    succeeds: "201",
  }),
  attack({
    name: "An attacker uses a session that its operator ended",
    surface: "console",
    async prepare(world) {
      const headers = await session(world);
      await done(answerTo(world, "/admin/v1/sessions/end", { headers, body: {} }));
      return headers;
    },
    attack: (world, halves) => whoAmI(world, halves),
    held: refused,
    control: async (world) => whoAmI(world, await session(world)),
    succeeds: "200",
  }),
  attack({
    name: "An attacker changes the last letter of a session's cookie",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, { cookie, ...page }) =>
      whoAmI(world, { ...page, cookie: cookie.slice(0, -1) + (cookie.endsWith("0") ? "1" : "0") }),
    held: refused,
    control: (world, halves) => whoAmI(world, halves),
    succeeds: "200",
  }),
  attack({
    name: "A cookie lends its rights to an authorization that has none",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, halves) =>
      http(world, "/admin/v1/session", { headers: { ...halves, authorization: "Bearer unknown" } }),
    held: refused,
    control: (world, halves) => whoAmI(world, halves),
    succeeds: "200",
  }),
];

export const sessions: Group = { name: "sessions", open: () => openWorld(), attacks: rows };
