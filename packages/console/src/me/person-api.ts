import type { PersonAnswers, PersonSession } from "turnpike-host/admin-contract";

/** What the host said instead of an answer. */
class PersonError extends Error {
  override readonly name = "PersonError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const key = "turnpike-me";

/** Holds the half while the page is open, in browsers that do not let the page store anything. */
let unstored = "";

function readHalf(): string {
  try {
    return globalThis.localStorage.getItem(key) ?? unstored;
  } catch {
    return unstored;
  }
}

function writeHalf(half: string): void {
  unstored = half;
  try {
    globalThis.localStorage.setItem(key, half);
  } catch {
    // It is not stored.
  }
}

/** Asks the host as the person of the session; with a body it changes something. Throws a `PersonError`. */
async function send<Answer>(path: string, body?: object): Promise<Answer> {
  const init = {
    headers: { "x-turnpike-me": readHalf(), ...(body && { "content-type": "application/json" }) },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  };
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new PersonError(0, "The host does not answer.");
  }
  const said = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
  if (!response.ok)
    throw new PersonError(response.status, said.error?.message ?? `The host answers ${response.status}.`);
  return said as Answer;
}

/** How the page reads: each name is one of its parts. */
export const read = {
  session: () => send<PersonAnswers["session"]>("/me/v1/session"),
  connections: () => send<PersonAnswers["connections"]>("/me/v1/connections"),
  questions: () => send<PersonAnswers["questions"]>("/me/v1/questions"),
  auditLog: (cursor?: string) =>
    send<PersonAnswers["auditLog"]>(
      `/me/v1/trail${cursor === undefined ? "" : `?cursor=${encodeURIComponent(cursor)}`}`,
    ),
  sessions: () => send<PersonAnswers["sessions"]>("/me/v1/sessions"),
};

/** What the page changes. */
export const change = {
  answer: (id: string, ask: string, answer: "allow" | "deny") => send("/me/v1/questions/answer", { id, ask, answer }),
  disconnect: (subject: object) => send("/me/v1/connections/revoke", { subject }),
  endSession: (id: string) => send("/me/v1/sessions/end", { id }),
  async signOut(): Promise<void> {
    await send("/sign-out", {}).catch(() => {});
    writeHalf("");
  },
};

/** Begins the session that the sign-in ended with, by the code behind the `#` of the address, which is removed at once. */
export async function beginSession(): Promise<PersonSession | undefined> {
  const code = new URLSearchParams(globalThis.location.hash.slice(1)).get("code");
  if (code !== null) {
    globalThis.history.replaceState(undefined, "", globalThis.location.pathname);
    const { pageSecret } = await send<{ pageSecret: string }>("/me/v1/session", { code });
    writeHalf(pageSecret);
  }
  if (readHalf() === "") return undefined;
  try {
    return await read.session();
  } catch (error) {
    if (error instanceof PersonError && error.status === 401) return undefined;
    throw error;
  }
}

/** With which identity providers a person signs in here; none where the host has none. */
export async function listProviders(): Promise<readonly string[]> {
  try {
    const { providers } = await send<{ providers: { name: string; me: boolean }[] }>("/sign-in/providers");
    return providers.filter(({ me }) => me).map(({ name }) => name);
  } catch {
    return [];
  }
}
