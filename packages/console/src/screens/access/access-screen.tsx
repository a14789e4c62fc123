import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CredentialRecord } from "turnpike-host/admin-contract";
import { may, request } from "../../shared/api.ts";
import { usePages } from "../../shared/pages.ts";
import { addressOf, place, setQuery } from "../../shared/place.ts";
import { isAboutCredentials, useRefresh } from "../../shared/refresh.ts";
import { session } from "../../shared/session.ts";
import { principalText, visibleText } from "../../shared/words.ts";
import { CheckField } from "../../parts/check-field.tsx";
import { TextField } from "../../parts/fields.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { type NamedCredential, RevokeCredential, RotateCredential } from "./change-credential.tsx";
import { CredentialPage } from "./credential-page.tsx";
import { CredentialTable } from "./credential-table.tsx";
import { operatorsTenant, stateOf } from "./credential-text.ts";
import { MakeCredential } from "./make-credential.tsx";
import { People } from "./people-list.tsx";

/** Who can come in: the credentials of a tenant, the people who sign in to it, and for operators of all tenants the operators. */
export function AccessScreen() {
  const { tenant = "", rest } = place.value;
  const seesOperators = session.current.value?.operator.tenant === undefined;
  const [step] = rest;
  return (
    <>
      <h1>Access</h1>
      <Tabs
        label="Whose access"
        tabs={[
          { title: `Credentials of ${visibleText(tenant)}`, to: ["access"], isCurrent: step === undefined },
          { title: "People", to: ["access", "people"], isCurrent: step === "people" },
          ...(seesOperators
            ? [{ title: "Operators", to: ["access", "operators"], isCurrent: step === "operators" }]
            : []),
        ]}
      />
      {viewOf(tenant, step, seesOperators)}
    </>
  );
}

function viewOf(tenant: string, step: string | undefined, seesOperators: boolean): ComponentChildren {
  if (step === undefined) return <Credentials key="credential" tenant={tenant} kind="credential" />;
  if (step === "people") return <People key="people" tenant={tenant} />;
  if (step !== "operators") return <CredentialPage key={step} id={step} />;
  if (seesOperators) return <Credentials key="operator" tenant={tenant} kind="operator" />;
  return (
    <Empty title="You operate one tenant, and operators are not of a tenant.">
      <p>Operators of all tenants see them here.</p>
      <Link to={addressOf(["access"])}>Show the credentials of this tenant</Link>
    </Empty>
  );
}

type Doing =
  | { verb: "make" }
  | { verb: "rotate"; credential: NamedCredential }
  | { verb: "revoke"; credential: CredentialRecord };

function Credentials({ tenant, kind }: { tenant: string; kind: "credential" | "operator" }) {
  const { query } = place.value;
  const search = query.get("search") ?? "";
  const isAll = query.get("all") === "yes";
  const namespaceId = kind === "operator" ? operatorsTenant : tenant;
  const [doing, setDoing] = useState<Doing>();
  const pages = usePages(
    async (cursor) => {
      const page = await request("listCredentials", { namespaceId, limit: 200, cursor });
      return { items: page.credentials, cursor: page.cursor };
    },
    [namespaceId],
  );
  useRefresh(() => (pages.items?.length ?? 0) <= 200 && pages.reload(), isAboutCredentials);
  const all = pages.items ?? [];
  const now = new Date();
  const shown = all.filter(
    (credential) =>
      (isAll || stateOf(credential, now) === "live") &&
      (principalText(credential.access.actor).includes(search) || credential.id.startsWith(search)),
  );
  const operator = session.current.value?.operator;
  const ownId = operator?.id;
  const change = {
    isOwn: doing?.verb !== "make" && doing?.credential.id === ownId,
    onClose: () => setDoing(undefined),
    onChanged: pages.reload,
  };
  return (
    <>
      <div class="form row filters">
        <TextField
          label="Actor or id"
          type="search"
          value={search}
          onChange={(text) => setQuery({ search: text.trim() }, "typed")}
        />
        <CheckField
          label="Also revoked and expired"
          isOn={isAll}
          onChange={(isOn) => setQuery({ all: isOn ? "yes" : undefined })}
        />
        {may("createCredential") && (
          <div class="actions to-end">
            <button type="button" class="button main" onClick={() => setDoing({ verb: "make" })}>
              Make {kind === "operator" ? "an operator" : "a credential"}
            </button>
          </div>
        )}
      </div>
      {pages.items !== undefined && shown.length === 0 && (
        <Empty title={all.length === 0 ? "There is no credential yet." : "No credential fits."}>
          {all.length === 0 ? "An agent needs one to call this host." : `${all.length} were read.`}
        </Empty>
      )}
      {shown.length > 0 && (
        <CredentialTable
          kind={kind}
          credentials={shown}
          ownId={ownId}
          onRotate={(credential) => setDoing({ verb: "rotate", credential })}
          onRevoke={(credential) => setDoing({ verb: "revoke", credential })}
        />
      )}
      <ListEnd what="credentials" of={pages} />
      {operator && !shown.some(({ id }) => id === operator.id) && (
        <div class="actions hint">
          <span>
            You are signed in with <code>{operator.id}</code>.
          </span>
          <button
            type="button"
            class="button"
            onClick={() =>
              setDoing({ verb: "rotate", credential: { id: operator.id, access: { actor: operator.actor } } })
            }
          >
            Rotate your own token
          </button>
        </div>
      )}
      {doing?.verb === "make" && <MakeCredential tenant={tenant} kind={kind} {...change} />}
      {doing?.verb === "rotate" && <RotateCredential {...change} credential={doing.credential} />}
      {doing?.verb === "revoke" && <RevokeCredential {...change} credential={doing.credential} />}
    </>
  );
}
