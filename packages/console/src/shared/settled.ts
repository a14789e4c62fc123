import { useEffect, useState } from "preact/hooks";

/** A value once it has not changed for a while, so that not every letter that is typed becomes a request. */
export function useSettled(value: string, ms = 350): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
