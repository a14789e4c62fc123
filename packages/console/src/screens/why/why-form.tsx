import { useEffect, useState } from "preact/hooks";
import { fieldInstant, instantOf } from "../../shared/instants.ts";
import { addressOf, go, place } from "../../shared/place.ts";
import { useTyped } from "../../shared/typed.ts";
import { Form, TextField } from "../../parts/fields.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { askedBy, type Question } from "./question.ts";

/** Who would do what: all of it goes into the address, so that the answer can be shared. */
export function WhyForm({ question, onSame }: { question: Question; onSame(): void }) {
  const { tenant = "" } = place.value;
  const [typed, change] = useTyped(question);
  // An address that asks something asks all of it, or is told what it lacks.
  const isAsked = Object.values(question).some((text) => text !== "");
  const [isTried, setTried] = useState(isAsked);
  // An operator who comes back to the empty form begins anew.
  useEffect(() => setTried(isAsked), [isAsked]);
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
        <summary>For another principal, or at another time</summary>
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
            value={fieldInstant(typed.at)}
            problem={problems["at"]}
            hint="now, unless given"
            onChange={(text) => change({ at: instantOf(text) ?? "" })}
          />
        </div>
      </details>
    </Form>
  );
}
