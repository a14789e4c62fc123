import type { Reply } from "turnpike/http";
import { pageReply } from "../../front/index.ts";
import type { RefusedSignIn } from "../../people/index.ts";
import { linkTo } from "./addresses.ts";

/** The link leads to no page of this host. */
export function nowherePage(): Reply {
  return pageReply(400, { title: "This link leads nowhere", text: "It names no page of this host.", links: [] });
}

/** No provider signs anyone in to that page. */
export function noProviderPage(): Reply {
  return pageReply(404, {
    title: "No one can sign in here",
    text: "No identity provider is configured for this page.",
    links: [],
  });
}

/** The provider cannot be reached. */
export function awayPage(to: string, provider: string): Reply {
  return pageReply(503, {
    title: `${provider} does not answer`,
    text: "Wait a little, and try again.",
    links: [{ to: linkTo(to), says: "Try again" }],
  });
}

/** This host has no secret that the provider takes. */
export function unknownHostPage(to: string, provider: string): Reply {
  return pageReply(503, {
    title: `${provider} does not know this host`,
    text: "An operator has to correct the secret that this host has there.",
    links: [{ to: linkTo(to), says: "Try again" }],
  });
}

/** The answer fits no sign-in of this browser, or has been used. */
export function lostPage(to: string): Reply {
  return pageReply(400, {
    title: "This sign-in is over",
    text: "It took too long, was begun in another window, or has been used.",
    links: [{ to, says: "Sign in again" }],
  });
}

/** The answer proves nothing, or says that the user did not want to sign in. */
export function unprovedPage(to: string, provider: string, error: string | null): Reply {
  return pageReply(400, {
    title: "You are not signed in",
    text:
      error === "access_denied" ? `${provider} was told not to.` : `${provider} gave an answer that does not count.`,
    links: [{ to: linkTo(to), says: "Sign in again" }],
  });
}

/** The provider knows a user whom this host does not let in. */
export function notLetInPage(to: string, reason: RefusedSignIn): Reply {
  return pageReply(403, {
    title: "You are not let in",
    text: notLetIn[reason],
    links: [{ to: linkTo(to), says: "Sign in again" }],
  });
}

const askOperator = "An operator of this host can change that.";
const notLetIn: Readonly<Record<RefusedSignIn, string>> = {
  no_people: `This provider signs operators in, and no one else. ${askOperator}`,
  no_operator: `You are no operator here. ${askOperator}`,
  no_subject: `Your provider gives you no name that can be used here. ${askOperator}`,
  no_tenant: `Your provider names no tenant of yours. ${askOperator}`,
  revoked: `Your access was revoked. ${askOperator}`,
  taken: `Another user signs in under your name. ${askOperator}`,
  breaks_rule: `What you would be given breaks a rule about grants. ${askOperator}`,
  deleted_tenant: "Your tenant was deleted.",
};
