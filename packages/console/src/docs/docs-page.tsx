import { useEffect, useState } from "preact/hooks";
import { useLoad } from "../shared/load.ts";
import { TextField } from "../parts/fields.tsx";
import { Empty, Show } from "../parts/states.tsx";
import { operationsOf, searchOperations, type ApiDocument, type Operation } from "./document.ts";
import { ErrorCodes } from "./error-codes.tsx";
import { OperationView } from "./operation-view.tsx";
import { Prose } from "./prose.tsx";
import { token } from "./try-it.tsx";

/** The description of the API: everything that the document says, and every operation to try. */
export function DocsPage() {
  const document = useLoad(readDocument, []);
  return (
    <Show what="the API description" of={document}>
      {(value) => <DocsBody document={value} />}
    </Show>
  );
}

async function readDocument(): Promise<ApiDocument> {
  const response = await fetch("/openapi.json");
  if (!response.ok) throw new Error(`The host answered ${response.status}.`);
  return (await response.json()) as ApiDocument;
}

function DocsBody({ document }: { document: ApiDocument }) {
  const { info, tags = [], "x-error-codes": codes = [] } = document;
  const [words, setWords] = useState("");
  const [wanted, setWanted] = useState(globalThis.location.hash.slice(1));
  const operations = operationsOf(document);
  const found = searchOperations(operations, words);
  useEffect(() => {
    const follow = (): void => setWanted(globalThis.location.hash.slice(1));
    globalThis.addEventListener("hashchange", follow);
    return () => globalThis.removeEventListener("hashchange", follow);
  }, []);
  // The operation of the address is on the page only now.
  useEffect(() => globalThis.document.getElementById(wanted)?.scrollIntoView(), [wanted]);
  const groups = tags.map((tag) => ({ ...tag, operations: found.filter((operation) => operation.tag === tag.name) }));
  return (
    <div class="docs">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <nav class="docs-menu" aria-label="Operations">
        <p class="brand">
          {info.title} <span class="hint">{info.version}</span>
        </p>
        <TextField label="Search" type="search" value={words} onChange={setWords} />
        {groups.map(
          ({ name, operations: own }) => own.length > 0 && <MenuGroup key={name} name={name} operations={own} />,
        )}
        <a href="#errors">Errors</a>
      </nav>
      <main id="content" tabIndex={-1}>
        <h1>{info.title} API</h1>
        <Prose text={info.description ?? ""} />
        <p>
          For machines: <a href="/openapi.json">openapi.json</a>. For people who operate it:{" "}
          <a href="/console">the console</a>.
        </p>
        <section class="panel">
          <h2>Authentication</h2>
          <p>
            Every request but those marked open carries a credential: <code>authorization: Bearer &lt;token&gt;</code>.
            It says who acts, for whom and why; no body does. An operator makes credentials.
          </p>
          <TextField
            label="Your token, for trying things here"
            type="password"
            value={token.value}
            onChange={(value) => (token.value = value.trim())}
            hint="Held in the memory of this page, sent to this host alone, and gone when you leave."
          />
        </section>
        {found.length === 0 && (
          <Empty title="No operation has all of these words.">
            Search finds names, paths, summaries, descriptions and parameters.
          </Empty>
        )}
        {groups.map(
          ({ name, description = "", operations: own }) =>
            own.length > 0 && (
              <section key={name}>
                <h2>{name}</h2>
                <Prose text={description} />
                {own.map((operation) => (
                  <OperationView
                    key={operation.id}
                    document={document}
                    operation={operation}
                    isOpen={operation.id === wanted}
                  />
                ))}
              </section>
            ),
        )}
        <ErrorCodes codes={codes} />
      </main>
    </div>
  );
}

/** Summaries of operators' routes say more than a menu has room for. */
function firstSentence(text: string): string {
  const [sentence = ""] = text.split(/[.:] |\.$/);
  return sentence;
}

function MenuGroup({ name, operations }: { name: string; operations: readonly Operation[] }) {
  return (
    <>
      <h2>{name}</h2>
      <ul class="plain-list">
        {operations.map(({ id, method, summary }) => (
          <li key={id}>
            <a href={`#${id}`}>
              <span class={`method ${method.toLowerCase()}`}>{method}</span>
              <span>{firstSentence(summary)}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
