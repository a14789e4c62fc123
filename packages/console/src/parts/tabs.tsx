import { addressOf } from "../base/place.ts";
import { Link } from "./link.tsx";

/** The views of a screen. */
export function Tabs({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly { title: string; to: readonly string[]; isCurrent: boolean }[];
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ title, to, isCurrent }) => (
        <Link key={title} to={addressOf(to)} isCurrent={isCurrent}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
