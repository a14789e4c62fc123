import type { Pages } from "../shared/pages.ts";
import { Loading, Problem } from "./states.tsx";

/** What comes behind the rows of a list that is read page by page: a problem, more, or that there is no more. */
export function ListEnd({
  what,
  of: { items, problem, hasMore, isLoading, more, reload },
}: {
  what: string;
  of: Omit<Pages<unknown>, "items"> & { items: unknown };
}) {
  if (problem !== undefined)
    return <Problem text={`${what}: ${problem}`} again={items === undefined ? reload : more} />;
  if (items === undefined) return <Loading what={what} />;
  if (!hasMore) return null;
  return (
    <button type="button" class="button more" disabled={isLoading} aria-busy={isLoading} onClick={more}>
      More {what}
    </button>
  );
}

/** Says that there is more to see in a list that is held. It lies over the end of the list, so that no row moves. */
export function News({ count, onShow }: { count: number; onShow(): void }) {
  return (
    <div class="news" role="status">
      {count > 0 && (
        <button type="button" class="button" onClick={onShow}>
          Show {count} new
        </button>
      )}
    </div>
  );
}
