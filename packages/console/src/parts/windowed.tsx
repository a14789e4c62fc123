import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Part of a long page that is drawn only while it is near the window. Elsewhere it retains its height and has no elements. */
export function Windowed({
  estimate,
  children,
}: {
  /** How many pixels high it is about, when it is not to be drawn before it is known to be near. */
  estimate?: number | undefined;
  children(): ComponentChildren;
}) {
  const frame = useRef<HTMLDivElement>(null);
  /** How high it is while it is not drawn. */
  const [height, setHeight] = useState(estimate);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const entry = entries.at(-1);
        // Where the focus is, everything stays.
        if (entry === undefined || element.contains(document.activeElement)) return;
        setHeight(entry.isIntersecting ? undefined : entry.boundingClientRect.height);
      },
      { rootMargin: "400px 0px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={frame} style={height === undefined ? undefined : { height: `${height}px` }}>
      {height === undefined && children()}
    </div>
  );
}
