import { useEffect, useState } from "preact/hooks";

/** How long the stream may be closed before the page says so: opening it and opening it again take a short time. */
const patienceMs = 4000;

/** Whether the event stream has been closed for so long that the page says so. */
export function useLate(isOpen: boolean): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (isOpen) return;
    const timer = setTimeout(() => setLate(true), patienceMs);
    return () => clearTimeout(timer);
  }, [isOpen]);
  return isLate && !isOpen;
}
