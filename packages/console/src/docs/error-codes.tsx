import { Table } from "../parts/table.tsx";
import type { CodeOfApi } from "./document.ts";
import { Prose } from "./prose.tsx";

/** Every code, what it means, and what to do about it. */
export function ErrorCodes({ codes }: { codes: readonly CodeOfApi[] }) {
  return (
    <section id="errors">
      <h2>Errors</h2>
      <p>
        A request that never became an operation is answered with an HTTP error; everything else with status 200 and a
        result that says why not. Both have a code.
      </p>
      <Table
        label="Codes"
        rows={codes}
        keyOf={({ code }) => code}
        columns={[
          { title: "Code", kind: "code", cell: ({ code }) => code },
          { title: "Status", kind: "number", cell: ({ status }) => status ?? "" },
          { title: "Meaning", cell: ({ meaning }) => <Prose text={meaning} /> },
          { title: "What to do", cell: ({ remedy }) => <Prose text={remedy} /> },
          { title: "Again later", isMinor: true, cell: ({ retry }) => (retry ? "may succeed" : "") },
        ]}
      />
    </section>
  );
}
