import { useState } from "preact/hooks";
import { fieldMoment, momentOf } from "../../base/moments.ts";
import { addressOf, go, place } from "../../base/place.ts";
import { useTyped } from "../../base/typed.ts";
import { Form, TextField } from "../../parts/fields.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { askedBy, type Question } from "./question.ts";

/** Who would do what: all of it goes into the address, so that the answer can be shared. */
export function WhyForm({ question, onSame }: { question: Question; onSame(): void }) {
  const { tenant = "" } = place.value;
  const [typed, change] = useTyped(question);
  const [isTried, setTried] = useState(false);
  const asked = askedBy({ ...typed, traceId: "" }, tenant);
  const problems = isTried && asked.route === undefined ? asked.problems : {};
  const send = (): void => {
    setTried(true);
    if (asked.route === undefined) return;
    const to = addressOf(["why"], { ...typed, traceId: undefined });
    if (to === addressOf(["why"], { ...question })) onSame();
    else go(to);
  };
  return (
    <Form label="Ask why" onSend={send}>
      <div class="form row ask">
        <PrincipalField
          label="May"
          value={typed.actor}
          problem={problems["actor"]}
          hint="who"
          onChange={(actor) => change({ actor })}
        />
        <TextField
          label="do"
          value={typed.action}
          problem={problems["action"]}
          hint="the action"
          onChange={(action) => change({ action })}
        />
        <TextField
          label="with"
          value={typed.resource}
          problem={problems["resource"]}
          hint="the resource, namespace/path"
          onChange={(resource) => change({ resource })}
        />
        <TextField
          label="for"
          value={typed.purpose}
          problem={problems["purpose"]}
          hint="the purpose"
          onChange={(purpose) => change({ purpose })}
        />
        <button type="submit" class="button main">
          Why?
        </button>
      </div>
      <details class="folded" open={typed.authority !== "" || typed.owner !== "" || typed.at !== ""}>
        <summary>For somebody else, or at another moment</summary>
        <div class="form row">
          <PrincipalField
            label="Whose resources"
            value={typed.owner}
            problem={problems["owner"]}
            hint="the actor's own, unless given"
            onChange={(owner) => change({ owner })}
          />
          <PrincipalField
            label="On whose grants"
            value={typed.authority}
            problem={problems["authority"]}
            hint="the owner's, unless given"
            onChange={(authority) => change({ authority })}
          />
          <TextField
            label="At"
            type="datetime-local"
            value={fieldMoment(typed.at)}
            problem={problems["at"]}
            hint="now, unless given"
            onChange={(text) => change({ at: momentOf(text) ?? "" })}
          />
        </div>
      </details>
    </Form>
  );
}
