import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "./api.ts";

/** A list that is read page by page. */
export interface Pages<T> {
  /** Undefined until the first page is there. */
  items: readonly T[] | undefined;
  /** Why a page could not be read. What was read before stays. */
  problem: string | undefined;
  isLoading: boolean;
  /** Whether there is more behind what was read. */
  hasMore: boolean;
  more(): void;
  /** Reads the list from its beginning. */
  reload(): void;
}

interface State<T> {
  key: string;
  items?: readonly T[];
  cursor?: string | undefined;
  problem?: string;
  isLoading: boolean;
}

/** Reads a list page by page, and from its beginning when one of `keys` changes. */
export function usePages<T>(
  read: (cursor: string | undefined) => Promise<{ items: readonly T[]; cursor?: string | undefined }>,
  keys: readonly (string | undefined)[],
): Pages<T> {
  const key = JSON.stringify(keys);
  const [state, setState] = useState<State<T>>({ key, isLoading: true });
  // Only the answer to the last request counts.
  const round = useRef(0);
  const load = async (cursor: string | undefined): Promise<void> => {
    const mine = ++round.current;
    setState((before) => ({ ...(before.key === key ? before : {}), key, isLoading: true }));
    try {
      const page = await read(cursor);
      if (mine !== round.current) return;
      setState(({ items = [] }) => ({
        key,
        items: cursor === undefined ? page.items : [...items, ...page.items],
        cursor: page.cursor,
        isLoading: false,
      }));
    } catch (error) {
      if (mine === round.current) setState((before) => ({ ...before, problem: messageOf(error), isLoading: false }));
    }
  };
  useEffect(() => void load(undefined), [key]);
  const isCurrent = state.key === key;
  return {
    items: isCurrent ? state.items : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: state.isLoading || !isCurrent,
    hasMore: isCurrent && state.cursor !== undefined,
    more: () => void load(state.cursor),
    reload: () => void load(undefined),
  };
}
