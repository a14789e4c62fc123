import { useState } from "preact/hooks";
import type { CredentialRecord } from "turnpike-host/admin-contract";
import type { ToolDescriptor, ToolResult } from "turnpike/contracts";
import { useAct } from "../../shared/act.ts";
import { may, request } from "../../shared/api.ts";
import { requestText } from "../../shared/words.ts";
import { Form, TextArea } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Problem } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { argumentsOf, fieldsOf, readArguments, type Typed } from "./argument-form.ts";
import { ArgumentInput } from "./argument-input.tsx";
import { ToolAnswer } from "./tool-answer.tsx";

/** One tool: what it says of itself, a form for its arguments, and what became of the call. */
export function ToolCallForm({
  tenant,
  credential,
  purpose,
  tool,
}: {
  tenant: string;
  credential: CredentialRecord;
  purpose: string | undefined;
  tool: ToolDescriptor;
}) {
  const fields = fieldsOf(tool.inputSchema);
  const [typed, setTyped] = useState<Typed>(() => new Map(fields?.map(({ name, initial }) => [name, initial])));
  const [json, setJson] = useState("{}");
  const [problems, setProblems] = useState<Typed>(new Map());
  const { isBusy, problem, run } = useAct();
  const [result, setResult] = useState<ToolResult>();
  const call = async (): Promise<void> => {
    const given = fields === undefined ? readArguments(json) : argumentsOf(fields, typed);
    setProblems("problems" in given ? given.problems : new Map());
    if ("problem" in given) throw new Error(given.problem);
    if ("problems" in given || !may("tryTool")) return;
    setResult(undefined);
    const who = { namespaceId: tenant, credentialId: credential.id, purpose };
    setResult(await request("tryTool", { ...who, tool: tool.name, arguments: given.arguments }));
  };
  const { action, resource } = tool.requiredCapability;
  return (
    <section class="panel" aria-labelledby="tool-title">
      <h2 id="tool-title">
        <ForeignText text={tool.name} /> {tool.readWrite === "write" && <Tag tone="wait" text="writes" />}
      </h2>
      <p>
        <ForeignText text={tool.description} />
      </p>
      <p class="hint">
        From <ForeignText text={tool.source} />, needs at most <ForeignText text={requestText({ action, resource })} />
      </p>
      <Form label="Arguments" onSend={() => void run(call)}>
        {fields === undefined ? (
          <TextArea label="Arguments" value={json} onChange={setJson} rows={6} isCode hint="A JSON object." />
        ) : (
          fields.map((field) => (
            <ArgumentInput
              key={field.name}
              field={field}
              value={typed.get(field.name) ?? ""}
              problem={problems.get(field.name)}
              onChange={(value) => setTyped((before) => new Map(before).set(field.name, value))}
            />
          ))
        )}
        {fields?.length === 0 && <p class="hint">It takes no arguments.</p>}
        {problem !== undefined && <Problem text={problem} />}
        {may("tryTool") ? (
          <div class="actions">
            <button type="submit" class="button main" disabled={isBusy} aria-busy={isBusy}>
              Call it
            </button>
            <span class="hint">It is done if it is allowed, and the audit log names you.</span>
          </div>
        ) : (
          <p class="hint">Only admins call tools.</p>
        )}
      </Form>
      {result && <ToolAnswer {...{ tenant, credential, purpose, tool, result }} />}
    </section>
  );
}
