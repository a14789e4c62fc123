import { AdminClientError } from "turnpike-host/admin-contract/call";
import { messageOf, request, signIn } from "../shared/api.ts";
import { session } from "../shared/session.ts";
import { codeInAddress } from "./one-time-code.ts";

/** Finds out who is there: by the one-time code in the address, or by the session there is. Returns what to tell them. */
export async function begin(): Promise<string | undefined> {
  const code = codeInAddress();
  let problem: string | undefined;
  try {
    if (code !== undefined) await signIn({ code });
  } catch (error) {
    // The link was opened twice. An operator who has a session already continues with it.
    problem = messageOf(error);
  }
  try {
    session.current.value ??= await request("readSession", {});
  } catch (error) {
    const isNobody = error instanceof AdminClientError && error.code === "unauthenticated";
    problem ??= isNobody ? undefined : messageOf(error);
  }
  session.isLost.value = false;
  return problem;
}

/** Another tab has signed in or out, so the session is another one here as well. */
export async function followSession(): Promise<void> {
  try {
    session.current.value = await request("readSession", {});
    session.isLost.value = false;
  } catch {
    // The sign-in is asked for where a session was lost. A host that does not answer is asked again by what needs it.
  }
}
