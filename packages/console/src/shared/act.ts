import { useState } from "preact/hooks";
import { messageOf } from "./api.ts";

/** Does something at the host, one thing at a time, and remembers what went wrong until the next time. */
export function useAct() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async (act: () => Promise<unknown>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, run };
}
