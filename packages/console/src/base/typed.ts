import { useEffect, useState } from "preact/hooks";

/** What is typed: it begins as what the address asks, and does so again when somebody goes elsewhere or back. */
export function useTyped<T extends object>(asked: T): [typed: T, change: (changes: Partial<T>) => void] {
  const [typed, setTyped] = useState(asked);
  useEffect(() => setTyped(asked), [JSON.stringify(asked)]);
  return [typed, (changes) => setTyped((before) => ({ ...before, ...changes }))];
}
