import type { AdminInput, AdminOutput, AdminRouteName } from "turnpike-host/admin-contract";
import { AdminClientError, sendAdmin } from "turnpike-host/admin-contract/call";
import { calls } from "./calls.ts";
import { pageHalf, session } from "./session.ts";

/** What a call takes: principals in a query are written `kind:id`, everything else is as the API says. */
export type Input<Name extends AdminRouteName> = { [Key in keyof AdminInput<Name>]?: unknown };

/** Calls the management API as the operator of the session. Throws an `AdminClientError`. */
export async function request<Name extends AdminRouteName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<AdminOutput<Name>> {
  const response = await send(name, input, signal);
  return (await response.json().catch(() => ({}))) as AdminOutput<Name>;
}

/** The same for an answer that is read as it comes. */
export async function send<Name extends AdminRouteName>(
  name: Name,
  input: Input<Name>,
  signal?: AbortSignal,
): Promise<Response> {
  const sender = session.current.value;
  try {
    const headers = { "x-turnpike-console": pageHalf.read() };
    const target = { url: globalThis.location.origin, headers, ...(signal && { signal }) };
    return await sendAdmin({ hasBody: false, ...calls[name] }, input, target);
  } catch (error) {
    // The page asks for a sign-in again, on top of what is there: nothing that was typed is lost. A refusal that comes after
    // that sign-in is about the session before.
    const isRefused = error instanceof AdminClientError && error.code === "unauthenticated";
    if (isRefused && session.current.value === sender) session.isLost.value = true;
    throw error;
  }
}

/** Begins a session, and stores the page's half of it. */
export async function signIn(proof: Input<"createSession">): Promise<void> {
  const { pageSecret, ...begun } = await request("createSession", proof);
  pageHalf.write(pageSecret);
  session.current.value = begun;
  session.isLost.value = false;
}

/** Ends the session, here also where no host answers. */
export async function signOut(): Promise<void> {
  await request("endSession", {}).catch(() => {});
  pageHalf.write("");
  session.current.value = undefined;
}

/** Whether the operator may use a route, by their role and by whether it is about one tenant or the whole host. */
export function may(name: AdminRouteName): boolean {
  const operator = session.current.value?.operator;
  if (operator === undefined) return false;
  const { roles, isOfHost } = calls[name];
  return roles.includes(operator.role) && (isOfHost !== true || operator.tenant === undefined);
}

/** What to tell a person about an error. */
export function messageOf(error: unknown): string {
  if (error instanceof AdminClientError && error.code === "unreachable") return "The host does not answer.";
  return error instanceof Error ? error.message : String(error);
}
