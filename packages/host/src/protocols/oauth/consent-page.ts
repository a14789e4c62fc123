import type { Capability } from "turnpike/contracts";
import type { Reply } from "turnpike/http";
import { formTargetOf, type OAuthClient, type Offer, placeOf } from "../../connections/index.ts";
import { visibleText, whereText } from "../../display/index.ts";
import { escapeHtml, htmlReply } from "../../front/index.ts";

/** What a person is asked, and what they may choose of. */
export interface ConsentPage {
  id: string;
  /** What the form sends back, and no other page has. */
  token: string;
  clientName: string;
  known: OAuthClient["known"];
  redirectUri: string;
  who: string;
  offers: readonly Offer[];
  /** What became of an earlier answer. */
  notice?: string | undefined;
}

/** For how long a person may let a client act, by what the form sends. */
export const lifetimes: ReadonlyMap<string, { says: string; hours?: number }> = new Map([
  ["", { says: "until I disconnect it" }],
  ["day", { says: "for a day", hours: 24 }],
  ["week", { says: "for a week", hours: 7 * 24 }],
  ["month", { says: "for 30 days", hours: 30 * 24 }],
]);

/** The page on which a person says what a client may do for them. It is a form, and needs no script. */
export function consentReply(status: number, page: ConsentPage): Reply {
  const { id, token, known, redirectUri, who, offers, notice } = page;
  const name = visibleText(page.clientName);
  const said = notice === undefined ? "" : `<p role="alert">${escapeHtml(notice)}</p>`;
  const choices =
    offers.length === 0
      ? "<p>You hold nothing here that you may hand on. An operator of this host can change that.</p>"
      : `<fieldset><legend>It may, in my name</legend>${offers.map(choiceOf).join("\n")}</fieldset>
<p><label>It may do so <select name="lasts">${[...lifetimes].map(optionOf).join("")}</select></label></p>`;
  const main = `${said}
<p>You are signed in as ${escapeHtml(who)}.</p>
<p>${escapeHtml(knownText[known])} Your answer goes to ${escapeHtml(placeOf(redirectUri))}. Cancel if you did not start this.</p>
<form method="post" action="/consent/${escapeHtml(id)}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${choices}
${offers.length === 0 ? "" : `<button name="answer" value="allow">Allow</button>`}
<button name="answer" value="cancel">Cancel</button>
</form>`;
  const title = `${name} wants to act for you`;
  return htmlReply(status, { title, main, formTargets: ["'self'", formTargetOf(redirectUri)] });
}

const knownText: Readonly<Record<OAuthClient["known"], string>> = {
  configured: "An operator of this host set this program up.",
  registered: "This program gave itself its name: anyone may have chosen it.",
};

function choiceOf({ key, capability, isAsked }: Offer): string {
  const checked = isAsked ? " checked" : "";
  const ask =
    capability.approval === undefined
      ? `<label class="of"><input type="checkbox" name="ask" value="${key}"> and ask me each time</label>`
      : "";
  return `<label><input type="checkbox" name="allow" value="${key}"${checked}> ${escapeHtml(offerText(capability))}</label>${ask}`;
}

/** What an offer allows, as a person reads it. */
function offerText({ actions, resource, scope, approval }: Capability): string {
  const what = actions.includes("*") ? "do everything" : actions.map(visibleText).join(", ");
  const below = scope === "descendants" ? " and everything below" : "";
  const asking = approval === undefined ? "" : ", and ask me each time";
  return `${what} in ${visibleText(whereText(resource))}${below}${asking}`;
}

function optionOf([value, { says }]: readonly [string, { says: string }]): string {
  return `<option value="${value}">${escapeHtml(says)}</option>`;
}
