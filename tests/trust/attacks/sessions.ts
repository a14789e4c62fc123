import { attack, type Attack, type Group, type Seen, together } from "./attack.ts";
import { answerTo, change, http, newOperator, type Sent } from "./surfaces.ts";
import { done, grantBody, openWorld, type Person, type World } from "./world.ts";

const forbidden = "403 permission_denied";
const refused = "401 unauthenticated";
const fromConsole = { "x-turnpike-console": "1" };

/** Begins a session and returns its cookie. */
async function signIn(world: World, body: object): Promise<string> {
  const { headers } = await done(answerTo(world, "/admin/v1/sessions", { body }));
  const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
  world.secrets.add(cookie.split("=")[1] ?? "");
  return cookie;
}

const session = (world: World, as: Person = "acmeAdmin") => signIn(world, { token: world.tokens[as] });

/** A code that begins a session. */
async function codeOf(world: World, as: Person = "acmeAdmin"): Promise<string> {
  const { code } = (await done(answerTo(world, "/admin/v1/codes", { as, body: {} }))).body as { code: string };
  world.secrets.add(code);
  return code;
}

/** A change by the cookie of a session, with something wrong about it. */
function byCookie(name: string, wrong: (world: World) => Sent["headers"], held = forbidden): Attack {
  const send = (world: World, cookie: string, headers: Sent["headers"]) =>
    http(world, "/admin/v1/grants", {
      headers: { cookie, ...headers },
      body: grantBody(world.fresh("grant"), "files/notes"),
    });
  return attack({
    name,
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, cookie) => send(world, cookie, wrong(world)),
    held,
    control: (world, cookie) =>
      send(world, cookie, { ...fromConsole, origin: world.url, "sec-fetch-site": "same-origin" }),
    succeeds: "201",
  });
}

const whoAmI = (world: World, cookie: string, path = "/admin/v1/session"): Promise<Seen> =>
  http(world, path, { headers: { cookie } });

/** The cookie of an operator's session on a path that is for agents. */
function elsewhere(path: string): Attack {
  return attack({
    name: `The cookie of an operator's session is sent to ${path}`,
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, cookie) => whoAmI(world, cookie, path),
    held: refused,
    control: (world, cookie) => whoAmI(world, cookie),
    succeeds: "200",
  });
}

const rows: readonly Attack[] = [
  byCookie("Another site sends a form to the console's host: no header of the page", () => ({})),
  byCookie("Another site sends a change with its own origin", () => ({
    ...fromConsole,
    origin: "https://evil.example",
  })),
  byCookie("A page without an origin sends a change: the origin is null", () => ({ ...fromConsole, origin: "null" })),
  byCookie("A host whose name begins like this one sends a change", ({ url }) => ({
    ...fromConsole,
    origin: `${url}.evil.example`,
  })),
  byCookie("A page on another port of this machine sends a change", () => ({
    ...fromConsole,
    origin: "http://127.0.0.1:1",
  })),
  byCookie("A browser says that another site asked", () => ({ ...fromConsole, "sec-fetch-site": "cross-site" })),
  byCookie("A browser says that a neighbour of this site asked", () => ({
    ...fromConsole,
    "sec-fetch-site": "same-site",
  })),
  byCookie("Another site sends the change as a form's text, which needs no permission of the browser", () => ({
    "content-type": "text/plain",
  })),
  elsewhere("/v1/reach"),
  elsewhere("/mcp"),
  elsewhere("/access/v1/evaluation"),
  attack({
    name: "Somebody fixes the session of an operator by a cookie that they chose",
    surface: "console",
    prepare: (world) => Promise.resolve(`turnpike=${world.fresh("chosen")}`),
    async attack(world, cookie) {
      const { headers } = await done(
        answerTo(world, "/admin/v1/sessions", { body: { token: world.tokens.acmeAdmin }, headers: { cookie } }),
      );
      world.secrets.add((headers.get("set-cookie") ?? "").split(/[=;]/)[1] ?? "");
      return whoAmI(world, cookie);
    },
    held: refused,
    leaves: ["sessions"],
    control: async (world) => whoAmI(world, await session(world)),
    succeeds: "200",
  }),
  attack({
    name: "Somebody sends two cookies of sessions, of which one is theirs",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, cookie) => whoAmI(world, `turnpike=0; ${cookie}`),
    held: "400 invalid_request",
    control: (world, cookie) => whoAmI(world, `other=0; ${cookie}`),
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
    name: "Another site signs a browser in as somebody else",
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
    name: "Somebody uses a code of a link a second time",
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
    attack: (world, cookie) => http(world, "/admin/v1/codes", { headers: { cookie, ...fromConsole }, body: {} }),
    held: forbidden,
    control: (world) => http(world, "/admin/v1/codes", { as: "acmeAdmin", body: {} }),
    succeeds: "201",
  }),
  attack({
    name: "Somebody goes on with a session whose credential was revoked",
    surface: "console",
    async prepare(world) {
      const { id, token } = await newOperator(world);
      const cookie = await signIn(world, { token });
      await change(world, "credentials/revoke", { id });
      return cookie;
    },
    attack: whoAmI,
    held: refused,
    control: async (world) => whoAmI(world, await session(world)),
    succeeds: "200",
  }),
  attack({
    name: "Somebody goes on with a session whose credential got another token",
    surface: "console",
    async prepare(world) {
      const { id, token } = await newOperator(world);
      const cookie = await signIn(world, { token });
      const rotated = await change<{ token: string }>(world, "credentials/rotate", { id });
      world.secrets.add(rotated.token);
      return { cookie, token: rotated.token };
    },
    attack: (world, { cookie }) => whoAmI(world, cookie),
    held: refused,
    control: (world, { token }) => http(world, "/admin/v1/session", { token }),
    succeeds: "200",
  }),
  attack({
    name: "Somebody uses a code that was made before the token was rotated",
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
    name: "Somebody goes on with a session that its operator ended",
    surface: "console",
    async prepare(world) {
      const cookie = await session(world);
      await done(answerTo(world, "/admin/v1/sessions/end", { headers: { cookie, ...fromConsole }, body: {} }));
      return cookie;
    },
    attack: whoAmI,
    held: refused,
    control: async (world) => whoAmI(world, await session(world)),
    succeeds: "200",
  }),
  attack({
    name: "Somebody changes the last letter of a session's cookie",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, cookie) => whoAmI(world, cookie.slice(0, -1) + (cookie.endsWith("0") ? "1" : "0")),
    held: refused,
    control: whoAmI,
    succeeds: "200",
  }),
  attack({
    name: "A cookie lends its rights to an authorization that has none",
    surface: "console",
    prepare: (world) => session(world),
    attack: (world, cookie) =>
      http(world, "/admin/v1/session", { headers: { cookie, authorization: "Bearer nobody" } }),
    held: refused,
    control: whoAmI,
    succeeds: "200",
  }),
];

export const sessions: Group = { name: "sessions", open: () => openWorld(), attacks: rows };
