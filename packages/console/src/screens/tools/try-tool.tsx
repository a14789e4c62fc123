import type { CredentialRecord } from "turnpike-host/admin-contract";
import type { ToolDescriptor } from "turnpike/contracts";
import { may, request } from "../../shared/api.ts";
import { useLoad, useRead } from "../../shared/load.ts";
import { addressOf, place, setQuery } from "../../shared/place.ts";
import { isolatedText, principalText } from "../../shared/words.ts";
import { SelectField, TextField } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { stateOf } from "../access/credential-text.ts";
import { ToolCallForm } from "./tool-call-form.tsx";

/** More credentials than that are chosen by their id in the address. */
const mostCredentials = 500;

/** A tool, tried with what a credential may do: choose the credential, then one of the tools that it is offered. */
export function TryTool({ tenant }: { tenant: string }) {
  const { query } = place.value;
  const chosen = query.get("credential") ?? "";
  const credentials = useLoad(async () => {
    const page = await request("listCredentials", { namespaceId: tenant, limit: mostCredentials });
    return page.credentials.filter((credential) => stateOf(credential, new Date()) === "live");
  }, [tenant]);
  return (
    <Show what="credentials" of={credentials}>
      {(all) => {
        const credential = all.find(({ id }) => id === chosen);
        if (all.length === 0)
          return (
            <Empty title="No credential of this tenant is live.">
              <p>
                A tool is tried with the access of one: <Link to={addressOf(["access"])}>make one</Link>.
              </p>
            </Empty>
          );
        return (
          <>
            <div class="form row filters">
              <SelectField
                label="As the bearer of"
                value={chosen}
                options={[
                  { value: "", text: "choose a credential" },
                  ...all.map(({ id, access }) => ({
                    value: id,
                    text: [principalText(access.actor), access.purposes[0] ?? "", id].map(isolatedText).join(" · "),
                  })),
                ]}
                onChange={(id) => setQuery({ credential: id, purpose: undefined, tool: undefined })}
              />
              {credential && credential.access.purposes.length > 1 && (
                <SelectField
                  label="Purpose"
                  value={query.get("purpose") ?? credential.access.purposes[0] ?? ""}
                  options={credential.access.purposes.map((purpose) => ({
                    value: purpose,
                    text: isolatedText(purpose),
                  }))}
                  onChange={(purpose) => setQuery({ purpose })}
                />
              )}
            </div>
            {credential ? (
              <Offered tenant={tenant} credential={credential} />
            ) : (
              <Empty title="Whose tools?">Choose a credential to see what its bearer is offered now.</Empty>
            )}
          </>
        );
      }}
    </Show>
  );
}

function Offered({ tenant, credential }: { tenant: string; credential: CredentialRecord }) {
  const { query } = place.value;
  const purpose = query.get("purpose") ?? undefined;
  const search = query.get("search") ?? "";
  const offered = useRead("listOfferedTools", { namespaceId: tenant, credentialId: credential.id, purpose });
  return (
    <Show what="tools" of={offered}>
      {({ tools }) => {
        const tool = tools.find(({ name }) => name === query.get("tool"));
        if (tools.length === 0)
          return (
            <Empty title="It is offered no tool.">
              <p>
                Switch a namespace on for{" "}
                <Link to={addressOf(["tools", "namespaces"], { actor: principalText(credential.access.actor) })}>
                  <ForeignText text={principalText(credential.access.actor)} />
                </Link>
                , or give it a grant that a tool needs.
              </p>
            </Empty>
          );
        return (
          <div class="try">
            <div class="offered">
              <TextField
                label="Tools"
                type="search"
                value={search}
                onChange={(text) => setQuery({ search: text }, "typed")}
              />
              <ToolList tools={tools.filter(({ name }) => name.includes(search.trim()))} chosen={tool?.name} />
            </div>
            {tool ? (
              <ToolCallForm key={`${credential.id} ${tool.name}`} {...{ tenant, credential, purpose, tool }} />
            ) : (
              <Empty title={may("tryTool") ? "Choose a tool to call it." : "Choose a tool to see what it takes."} />
            )}
          </div>
        );
      }}
    </Show>
  );
}

function ToolList({ tools, chosen }: { tools: readonly ToolDescriptor[]; chosen: string | undefined }) {
  if (tools.length === 0) return <p class="hint">No tool's name has this in it.</p>;
  return (
    <ul class="plain-list tool-list">
      {tools.map(({ name, readWrite }) => (
        <li key={name}>
          <button
            type="button"
            class="tool-choice"
            aria-pressed={name === chosen}
            onClick={() => setQuery({ tool: name })}
          >
            <ForeignText text={name} /> {readWrite === "write" && <Tag tone="wait" text="writes" />}
          </button>
        </li>
      ))}
    </ul>
  );
}
