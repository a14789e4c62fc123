import {
  openConsent,
  registerClient,
  type ShownConsent,
  type TestClient,
} from "../../../packages/host/test/oauth-client.ts";
import { type SignInProvider, signInProviderOfTest } from "../../../packages/host/test/sign-in-provider.ts";
import { type TestBrowser, testBrowser } from "../../../packages/host/test/test-browser.ts";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { openWorld, type World } from "./world.ts";

type Changes = Record<string, string | undefined>;

let provider: SignInProvider;
/** Clients by their names: each is registered once, because one address may not register many. */
let clients = new Map<string, Promise<TestClient>>();

const send = (request: Request): Promise<Response> => fetch(request, { redirect: "manual" });
const newBrowser = ({ url }: World): TestBrowser => testBrowser(url, send);
const mayRead = "read in files/den/alice and everything below";
const invalid = "400 invalid_grant";

function clientOf({ url }: World, name = "Editor"): Promise<TestClient> {
  const known = clients.get(name) ?? registerClient(url, send, { name });
  clients.set(name, known);
  return known;
}

/** Where a browser is sent, in short: to sign in, to the client with a code, or to the client with an error. */
async function shown(answering: Promise<Response>): Promise<Seen> {
  const response = await answering;
  const text = await response.text();
  const location = response.headers.get("location");
  if (location === null) return { says: String(response.status), text };
  if (location.startsWith("/sign-in?")) return { says: "303 to sign in", text };
  const { searchParams } = new URL(location, "http://host.invalid");
  const error = searchParams.get("error");
  return { says: `303 ${error ?? (searchParams.has("code") ? "with a code" : "")}`, text };
}

async function consentOf(world: World, { sub = "alice", name = "Editor" } = {}): Promise<ShownConsent> {
  provider.user = { sub };
  const client = await clientOf(world, name);
  return openConsent(world.url, newBrowser(world), client.authorizeAddress());
}

async function codeOf(world: World, name?: string): Promise<string> {
  const page = await consentOf(world, name === undefined ? {} : { name });
  const code = (await page.allow(mayRead)).searchParams.get("code") ?? "";
  world.secrets.add(code);
  return code;
}

async function given(world: World, answering: ReturnType<TestClient["exchange"]>) {
  const { status, body } = await answering;
  for (const token of [body.access_token, body.refresh_token]) if (token !== undefined) world.secrets.add(token);
  return { body, seen: { says: [status, body.error].filter(Boolean).join(" "), text: body.error ?? "" } };
}

/** A request of a client that is wrong, beside one that is right. */
function wrongRequest(name: string, changes: Changes, held: string): Attack {
  const ask = async (world: World, wrong: Changes) =>
    shown(newBrowser(world).open((await clientOf(world)).authorizeAddress(wrong)));
  return attack({
    name: `A client asks ${name}`,
    surface: "HTTP",
    attack: (world) => ask(world, changes),
    held,
    control: (world) => ask(world, {}),
    succeeds: "303 to sign in",
  });
}

/** A code that a thief exchanges, beside the client that it was given to. */
function stolenCode(name: string, changesOf: (world: World) => Promise<Changes>): Attack {
  return attack({
    name: `A thief exchanges a code ${name}`,
    surface: "HTTP",
    async prepare(world) {
      return { client: await clientOf(world), code: await codeOf(world), changes: await changesOf(world) };
    },
    attack: async (world, { client, code, changes }) => (await given(world, client.exchange(code, changes))).seen,
    held: invalid,
    control: async (world, { client, code }) => (await given(world, client.exchange(code))).seen,
    succeeds: "200",
  });
}

type Fields = [string, string][];

/** An answer that no person gave, beside theirs. */
function forgedAnswer(
  name: string,
  held: string,
  forge: (made: { world: World; page: ShownConsent; fields: Fields; other: ShownConsent }) => Promise<Response>,
): Attack {
  return attack({
    name: `An attacker has a person allow a client something ${name}`,
    surface: "HTTP",
    async prepare(world) {
      const other = await consentOf(world, { sub: "mallory" });
      const page = await consentOf(world);
      const { key = "" } = page.choices.find(({ says }) => says === mayRead) ?? {};
      const fields: Fields = [
        ["token", page.token],
        ["allow", key],
        ["answer", "allow"],
      ];
      return { page, fields, other };
    },
    attack: (world, made) => shown(forge({ world, ...made })),
    held,
    control: (_world, { page, fields }) => shown(page.submit(fields)),
    succeeds: "303 with a code",
  });
}

const ended = ["connections", "connection_tokens", "credentials", "grants"] as const;

const rows: readonly Attack[] = [
  wrongRequest("to be answered at another site", { redirect_uri: "https://evil.example/callback" }, "400"),
  wrongRequest("to be answered by another program", { redirect_uri: "evil://callback" }, "400"),
  wrongRequest("to be answered by a script", { redirect_uri: "javascript:alert(1)" }, "400"),
  wrongRequest("to be answered at another path", { redirect_uri: "http://127.0.0.1:7777/other" }, "400"),
  wrongRequest(
    "to be answered at a site that begins alike",
    { redirect_uri: "http://127.0.0.1.evil.example/callback" },
    "400",
  ),
  wrongRequest("under an id that no one registered", { client_id: "dyn-0" }, "400"),
  wrongRequest(
    "without proof that it will be the one who exchanges the code",
    { code_challenge: undefined },
    "303 invalid_request",
  ),
  wrongRequest("with a proof that anyone can read", { code_challenge_method: "plain" }, "303 invalid_request"),
  wrongRequest("for a token for another host", { resource: "https://other.example/mcp" }, "303 invalid_target"),
  wrongRequest("for a token that could be for any host", { resource: undefined }, "303 invalid_target"),
  wrongRequest("for a token in the address", { response_type: "token" }, "303 unsupported_response_type"),
  wrongRequest("so that no person is asked", { prompt: "none" }, "303 login_required"),
  stolenCode("without its verifier", () => Promise.resolve({ code_verifier: undefined })),
  stolenCode("with a verifier of their own", async (world) => ({
    code_verifier: (await clientOf(world, "Thief")).verifier,
  })),
  stolenCode("as another client", async (world) => ({ client_id: (await clientOf(world, "Thief")).id })),
  stolenCode("for another address", () => Promise.resolve({ redirect_uri: "http://127.0.0.1:6666/callback" })),
  stolenCode("for another host", () => Promise.resolve({ resource: "https://other.example/mcp" })),
  attack({
    name: "A thief exchanges a code that its client has exchanged",
    surface: "HTTP",
    async prepare(world) {
      const [client, code] = [await clientOf(world), await codeOf(world)];
      await given(world, client.exchange(code));
      return { client, code };
    },
    attack: async (world, { client, code }) => (await given(world, client.exchange(code))).seen,
    held: invalid,
    leaves: ended,
    control: async (world, { client }) => (await given(world, client.exchange(await codeOf(world)))).seen,
    succeeds: "200",
  }),
  attack({
    name: "A thief refreshes with a token that its client has used",
    surface: "HTTP",
    async prepare(world) {
      const client = await clientOf(world);
      const { body } = await given(world, client.exchange(await codeOf(world)));
      const next = await given(world, client.refresh(body.refresh_token));
      return { client, used: body.refresh_token, next: next.body.access_token };
    },
    attack: async (world, { client, used }) => (await given(world, client.refresh(used))).seen,
    held: invalid,
    leaves: ended,
    async control(world, { client }) {
      const { body } = await given(world, client.exchange(await codeOf(world)));
      return (await given(world, client.refresh(body.refresh_token))).seen;
    },
    succeeds: "200",
  }),
  attack({
    name: "A thief refreshes as another client",
    surface: "HTTP",
    async prepare(world) {
      const [client, thief] = [await clientOf(world), await clientOf(world, "Thief")];
      return { client, thief, ...(await given(world, client.exchange(await codeOf(world)))).body };
    },
    attack: async (world, { thief, refresh_token }) => (await given(world, thief.refresh(refresh_token))).seen,
    held: invalid,
    control: async (world, { client, refresh_token }) => (await given(world, client.refresh(refresh_token))).seen,
    succeeds: "200",
  }),
  forgedAnswer("without what their page holds", "400", ({ page, fields }) => page.submit(fields.slice(1))),
  forgedAnswer("with what another page holds", "400", ({ page, fields, other }) =>
    page.submit([["token", other.token], ...fields.slice(1)]),
  ),
  forgedAnswer("from a page of another site", "403", ({ page, fields }) =>
    page.submit(fields, { origin: "https://evil.example" }),
  ),
  forgedAnswer("from a page that hides where it comes from", "403", ({ page, fields }) =>
    page.submit(fields, { origin: "null" }),
  ),
  forgedAnswer("in another browser", "400", ({ world, page, fields }) =>
    newBrowser(world).post(page.path, new URLSearchParams(fields).toString()),
  ),
  forgedAnswer("that they do not hold", "409", ({ page, fields }) =>
    page.submit([...fields, ["allow", "0".repeat(24)]]),
  ),
  forgedAnswer("that another person holds", "409", ({ page, fields, other }) =>
    page.submit([...fields, ["allow", other.choices[0]?.key ?? ""]]),
  ),
];

export const actingClients: Group = {
  name: "clients that act for people",
  async open() {
    provider = await signInProviderOfTest({ sub: "alice" });
    clients = new Map();
    const holds = [
      { resource: { namespace: "files", path: ["den", "{subject}"] }, actions: ["read"], scope: "descendants" },
    ];
    const people = { tenant: "acme", holds };
    const signIn = { issuer: provider.issuer, clientId: "turnpike", name: "Acme", people };
    const world = await openWorld({ config: { signIn } });
    for (const name of ["Editor", "Thief"]) await clientOf(world, name);
    return world;
  },
  attacks: rows,
};
