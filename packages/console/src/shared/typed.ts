import { useRef, useState } from "preact/hooks";

/** The values that are typed. They begin as those of the address, and do so again when the operator goes to another address. */
export function useTyped<T extends object>(asked: T): [typed: T, change: (changes: Partial<T>) => void] {
  const key = JSON.stringify(asked);
  const current = useRef({ key, typed: asked });
  const [, setCount] = useState(0);
  if (current.current.key !== key) current.current = { key, typed: asked };
  const change = (changes: Partial<T>): void => {
    Object.assign(current.current, { typed: { ...current.current.typed, ...changes } });
    setCount((count) => count + 1);
  };
  return [current.current.typed, change];
}
