import type { ComponentChildren } from "preact";
import { useAct } from "../shared/act.ts";
import { Problem } from "./states.tsx";

/** A button that does something at the host: it waits for the answer, and says what went wrong right beside it. */
export function ActionButton({
  kind = "plain",
  isDisabled = false,
  isSubmit = false,
  act,
  children,
}: {
  /** At most one of those in sight is `main`; `danger` takes something away. */
  kind?: "plain" | "main" | "danger";
  isDisabled?: boolean;
  /** Whether Enter in a field of the form around it does the same. */
  isSubmit?: boolean;
  act(): Promise<unknown>;
  children: ComponentChildren;
}) {
  const { isBusy, problem, run } = useAct();
  return (
    <>
      <button
        type={isSubmit ? "submit" : "button"}
        class={`button ${kind}`}
        disabled={isDisabled || isBusy}
        aria-busy={isBusy}
        onClick={() => void run(act)}
      >
        {children}
      </button>
      {problem !== undefined && <Problem text={problem} />}
    </>
  );
}
