import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { SelectField, TextArea, TextField } from "../parts/fields.tsx";
import { Problem } from "../parts/states.tsx";
import type { Operation } from "./document.ts";
import { curlText, exampleValues, requestOf } from "./try-request.ts";

/** The caller's own token: in the memory of this page, and nowhere else. */
export const token = signal("");

interface Answer {
  status: string;
  ms: number;
  headers: string;
  body: string;
}

/** Sends an operation to this host, with the caller's own token. */
export function TryIt({ operation }: { operation: Operation }) {
  const examples = Object.entries(operation.body?.examples ?? {});
  const [values, setValues] = useState(() => exampleValues(operation));
  const [body, setBody] = useState(textOf(examples[0]?.[1].value ?? operation.body?.example ?? {}));
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const request = requestOf(operation, { token: token.value, values, body }, globalThis.location.origin);
  const send = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      setAnswer(await answerOf(request.url, request));
    } catch {
      setProblem("No answer came. Is the host still there?");
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="try panel">
      <h4>Try it on this host</h4>
      {operation.parameters.map(({ name, in: place }) => (
        <TextField
          key={name}
          label={`${name} (${place})`}
          value={values[name] ?? ""}
          onChange={(value) => setValues({ ...values, [name]: value })}
        />
      ))}
      {examples.length > 1 && (
        <SelectField
          label="Example"
          value=""
          options={[
            { value: "", text: "Choose one to start from" },
            ...examples.map(([name, { summary = name }]) => ({ value: name, text: summary })),
          ]}
          onChange={(name) => setBody(textOf(operation.body?.examples?.[name]?.value ?? {}))}
        />
      )}
      {operation.body !== undefined && (
        <TextArea
          label="Body"
          value={body}
          onChange={setBody}
          rows={Math.min(20, body.split("\n").length + 1)}
          isCode
        />
      )}
      <div class="try-actions">
        <button type="button" class="button main" disabled={isBusy} onClick={() => void send()}>
          Send
        </button>
        {token.value === "" && !operation.isOpen && (
          <span class="hint">Your token goes into the field at the top.</span>
        )}
      </div>
      <details>
        <summary>As a command</summary>
        <pre tabIndex={0}>{curlText(request)}</pre>
      </details>
      {problem !== undefined && <Problem text={problem} />}
      {answer !== undefined && (
        <div role="status">
          <p>
            <strong>{answer.status}</strong> <span class="hint">in {answer.ms} ms</span>
          </p>
          <pre tabIndex={0}>{answer.body}</pre>
          <details>
            <summary>Headers of the answer</summary>
            <pre tabIndex={0}>{answer.headers}</pre>
          </details>
        </div>
      )}
    </section>
  );
}

/** The longest answer that is shown. A stream is shown as far as it came in five seconds. */
const mostShown = 100_000;

async function answerOf(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string | undefined },
): Promise<Answer> {
  const begun = performance.now();
  // The session of a console that is open beside this page must not answer for the token.
  const response = await fetch(url, { method, headers, credentials: "omit", ...(body !== undefined && { body }) });
  const ms = Math.round(performance.now() - begun);
  const text = await textWithin(response, 5000);
  return {
    status: `${response.status} ${response.statusText}`,
    ms,
    headers: [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n"),
    body: response.headers.get("content-type")?.includes("json") ? indented(text) : text.slice(0, mostShown),
  };
}

async function textWithin(response: Response, ms: number): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const timer = setTimeout(() => void reader.cancel(), ms);
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (value !== undefined) text += decoder.decode(value, { stream: true });
    if (done || text.length > mostShown) break;
  }
  clearTimeout(timer);
  await reader.cancel();
  return text;
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, mostShown);
  } catch {
    return text.slice(0, mostShown);
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
