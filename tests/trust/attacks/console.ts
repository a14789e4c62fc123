import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { admin, answerTo, http, run, send, type Sent } from "./surfaces.ts";
import { assistant, grantBody, openWorld, type World } from "./world.ts";

const script = "</script><script>alert(1)</script>\u202e<img src=x onerror=alert(1)>";

/** What a browser is told about an answer. */
async function headersOf(world: World, path: string, names: readonly string[], sent: Sent = {}): Promise<Seen> {
  const { status, headers, text } = await answerTo(world, path, sent);
  return { says: [status, ...names.map((name) => headers.get(name) ?? "none")].join(", "), text };
}

/** Whether an answer is JSON that no browser takes for a page, and has the words as they were written. */
async function asText(world: World, path: string, words: string): Promise<Seen> {
  const { status, headers, text, body } = await answerTo(world, path, { as: "admin" });
  const isThere = JSON.stringify(body).includes(JSON.stringify(words).slice(1, -1));
  const type = [headers.get("content-type"), headers.get("x-content-type-options")].join(", ");
  return { says: `${status}, ${type}, ${isThere ? "as it was written" : "not there"}`, text };
}

const inert = "200, application/json, nosniff, as it was written";

/** Words that are a page's script, stored somewhere, and plain words beside them. */
function stored(
  name: string,
  write: (world: World, words: string) => Promise<unknown>,
  path: string,
  leaves: Attack["leaves"],
): Attack {
  const both = async (world: World, words: string) => {
    await write(world, words);
    return asText(world, path, words);
  };
  return attack({
    name,
    surface: "console",
    attack: (world) => both(world, `${script}${world.fresh()}`),
    held: inert,
    ...(leaves && { leaves }),
    control: (world) => both(world, world.fresh("plain")),
    succeeds: inert,
  });
}

const page = { control: (world: World) => http(world, "/console/"), succeeds: "200" } as const;

const rows: readonly Attack[] = [
  attack({
    name: "A page of another party shows the console in a frame, to have its buttons clicked",
    surface: "console",
    async attack(world) {
      const { headers } = await answerTo(world, "/console/", {});
      return {
        says: /frame-ancestors 'none'/.exec(headers.get("content-security-policy") ?? "")?.[0] ?? "framed",
        text: "",
      };
    },
    held: "frame-ancestors 'none'",
    ...page,
  }),
  attack({
    name: "A script that was smuggled into the page is run",
    surface: "console",
    async attack(world) {
      const { headers } = await answerTo(world, "/console/acme/trail", {});
      const policy = headers.get("content-security-policy") ?? "";
      const rules = [
        "default-src 'none'",
        "script-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
      ];
      const isOpen = /unsafe|\*|data:|https?:/.test(policy) || rules.some((rule) => !policy.includes(rule));
      return { says: isOpen ? "it could run" : "only scripts of the host", text: policy };
    },
    held: "only scripts of the host",
    ...page,
  }),
  attack({
    name: "An answer of the API is opened as a page",
    surface: "console",
    attack: (world) => headersOf(world, "/v1/reach", ["content-type", "x-content-type-options", "cache-control"]),
    held: "401, application/json, nosniff, no-store",
    ...page,
  }),
  stored(
    "An operator's reason for a grant has a script in its id",
    (world, words) => admin(world, "grants", grantBody(words, "files/notes")),
    "/admin/v1/grants?namespaceId=acme&limit=500",
    ["grants"],
  ),
  stored(
    "An agent's reason for an escalation has a script in it",
    (world, words) => run(world, "assistant", { escalate: { reason: words } }),
    "/admin/v1/escalations?namespaceId=acme&limit=500",
    ["escalations", "turns", "replay"],
  ),
  stored(
    "The id of a message has a script in it, and is in the audit log",
    (world, words) => send(world, "assistant", { sender: assistant, id: words }),
    "/admin/v1/audit?namespaceId=acme&limit=500",
    ["messages", "replay"],
  ),
  stored(
    "The id of a turn has a script in it",
    (world, words) => run(world, "assistant", {}, { id: words }),
    "/admin/v1/turns?namespaceId=acme&limit=200",
    ["turns", "replay"],
  ),
  attack({
    name: "A link to the host leads a browser elsewhere",
    surface: "console",
    attack: (world) =>
      headersOf(world, "/?next=https://evil.example&return=//evil.example", ["location"], {
        headers: { accept: "text/html", "x-forwarded-host": "evil.example" },
        ...manual,
      }),
    held: "200, none",
    ...page,
  }),
  attack({
    name: "A path of the console has a script in it, for the page to show",
    surface: "console",
    async attack(world) {
      const { status, text } = await answerTo(world, "/console/%3Cscript%3Ealert(1)%3C/script%3E/trail", {});
      return { says: `${status}, ${text.includes("alert(1)") ? "with it" : "without it"}`, text };
    },
    held: "200, without it",
    ...page,
  }),
  attack({
    name: "A path that is not there has a script in it, for the error to show",
    surface: "HTTP",
    async attack(world) {
      const { status, headers, text } = await answerTo(world, "/v1/%3Cscript%3Ealert(1)%3C/script%3E", {
        as: "assistant",
      });
      return {
        says: `${status}, ${headers.get("content-type")}, ${text.includes("alert(1)") ? "with it" : "without it"}`,
        text,
      };
    },
    held: "404, application/json, without it",
    ...page,
  }),
  attack({
    name: "A body has a script where a value is wrong, for the error to repeat",
    surface: "HTTP",
    async attack(world) {
      const { status, text } = await answerTo(world, "/v1/authorize", {
        as: "assistant",
        body: { action: { [script]: script }, resource: script },
      });
      return { says: `${status}, ${text.includes("alert") ? "repeated" : "not repeated"}`, text };
    },
    held: "400, not repeated",
    ...page,
  }),
  attack({
    name: "A request id has a line break in it, for the log and the answer",
    surface: "HTTP",
    async attack(world) {
      const { headers } = await answerTo(world, "/health", {
        headers: { "x-request-id": "a\tset-cookie: turnpike=1" },
      });
      return {
        says: `${(headers.get("x-request-id") ?? "").includes("set-cookie") ? "repeated" : "replaced"}, ${headers.get("set-cookie")}`,
        text: "",
      };
    },
    held: "replaced, null",
    async control(world) {
      const { headers } = await answerTo(world, "/health", { headers: { "x-request-id": "mine" } });
      return { says: headers.get("x-request-id") ?? "", text: "" };
    },
    succeeds: "mine",
  }),
  attack({
    name: "A cookie of the console can be read by scripts or sent by other sites",
    surface: "console",
    async attack(world) {
      const { headers, body } = await answerTo(world, "/admin/v1/sessions", {
        body: { token: world.tokens.acmeAuditor },
      });
      world.secrets.add((body as { pageSecret: string }).pageSecret);
      const [value = "", ...rules] = (headers.get("set-cookie") ?? "").split("; ");
      world.secrets.add(value.split("=")[1] ?? "");
      return { says: rules.join("; "), text: "" };
    },
    held: "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict",
    leaves: ["sessions"],
    ...page,
  }),
  attack({
    name: "Another site may read the answers of the API",
    surface: "console",
    attack: (world) =>
      headersOf(world, "/v1/reach", ["access-control-allow-origin", "access-control-allow-credentials"], {
        as: "assistant",
        headers: { origin: "https://evil.example" },
      }),
    held: "200, none, none",
    ...page,
  }),
  attack({
    name: "Another site asks the browser for leave to send a change",
    surface: "console",
    attack: (world) =>
      headersOf(world, "/admin/v1/grants", ["access-control-allow-origin"], {
        method: "OPTIONS",
        headers: {
          origin: "https://evil.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-turnpike-console",
        },
      }),
    held: "401, none",
    ...page,
  }),
];

const manual = { read: (answer: Response) => Promise.resolve(answer.url.includes("evil") ? "elsewhere" : "here") };

export const consolePage: Group = { name: "console", open: () => openWorld(), attacks: rows };
