import { useEffect, useState } from "preact/hooks";

/** What was asked of the host, what went wrong, and asking again. */
export interface Asked<Answer> {
  value: Answer | undefined;
  problem: string | undefined;
  again(): void;
}

/** Asks the host when the part of the page is first shown. */
export function useAsked<Answer>(ask: () => Promise<Answer>): Asked<Answer> {
  const [value, setValue] = useState<Answer>();
  const [problem, setProblem] = useState<string>();
  const again = (): void => {
    setProblem(undefined);
    ask().then(setValue, (error: unknown) => setProblem(textOf(error)));
  };
  useEffect(again, []);
  return { value, problem, again };
}

/** What to tell a person about an error. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
