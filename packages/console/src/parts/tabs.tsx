import { useEffect, useRef } from "preact/hooks";
import { addressOf } from "../shared/place.ts";
import { Link } from "./link.tsx";

/** The views of a screen. */
export function Tabs({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly { title: string; to: readonly string[]; isCurrent: boolean }[];
}) {
  const bar = useRef<HTMLElement>(null);
  const current = tabs.findIndex(({ isCurrent }) => isCurrent);
  // Where they do not fit beside each other, the current one is in sight.
  useEffect(() => {
    const tab = bar.current?.children[current];
    if (tab instanceof HTMLElement) bar.current?.scrollTo({ left: tab.offsetLeft - bar.current.offsetLeft });
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map(({ title, to, isCurrent }) => (
        <Link key={title} to={addressOf(to)} isCurrent={isCurrent}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
