import { useMemo } from "preact/hooks";
import type { AdminExplanation } from "turnpike-host/admin-contract";
import { may, request } from "../../shared/api.ts";
import { grantText, principalText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantAsText } from "../grants/draft-form.tsx";
import { freshId } from "../grants/draft.ts";
import { termsText } from "../grants/grant-words.ts";
import { isUnread, PreviewShown, usePreview } from "../grants/preview.tsx";

type SuggestedGrant = NonNullable<AdminExplanation["suggestion"]>;

/** The one grant that would allow exactly this, what else it would change, and the button that issues it. */
export function Suggestion({ suggestion, onIssued }: { suggestion: SuggestedGrant; onIssued(id: string): void }) {
  const text = JSON.stringify(suggestion);
  // One id for as long as the suggestion is the same, so that a second click cannot issue a second grant.
  const grant = useMemo(() => ({ ...suggestion, id: freshId(), issuedAt: new Date().toISOString() }), [text]);
  const preview = usePreview({ draft: grant });
  const issue = async (): Promise<void> => {
    await request("createGrant", { ...grant, issuedAt: new Date().toISOString() });
    onIssued(grant.id);
  };
  return (
    <section class="panel suggestion" aria-label="The grant that would allow it">
      <h2>This one grant would allow exactly this, and nothing more</h2>
      <p class="offer">
        <ForeignText text={offerText(suggestion)} />
      </p>
      <PreviewShown preview={preview} isRevocation={false} />
      {may("createGrant") ? (
        <div class="actions">
          <ActionButton kind="main" isDisabled={isUnread(preview)} act={issue}>
            Issue this grant
          </ActionButton>
        </div>
      ) : (
        <p class="hint">Your role may not issue grants.</p>
      )}
      <GrantAsText grant={suggestion} />
    </section>
  );
}

function offerText({ subject, issuer, capabilities, constraints, parentId }: SuggestedGrant): string {
  const what = grantText({ capabilities });
  const terms = termsText(constraints);
  const above = parentId === undefined ? "" : `, out of ${parentId}`;
  return `${principalText(subject)} may ${what}${terms && `, ${terms}`}. Given by ${principalText(issuer)}${above}.`;
}
