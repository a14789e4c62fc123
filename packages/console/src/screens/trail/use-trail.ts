import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, request } from "../../base/api.ts";
import { listen, live } from "../../base/live/live.ts";
import type { Pages } from "../../base/pages.ts";
import { eventFits } from "turnpike-host/management/event-filter";
import type { TrailFilter, TrailRow } from "./trail-filter.ts";
import { appendPage, beginList, emptyList, receiveRows, showPending, type TrailList } from "./trail-list.ts";

const pageSize = 200;
/** With a filter a page may be short or empty before the end: so many are read until somebody has something to look at. */
const maxEmptyPages = 5;
/** New rows are taken together, so that a busy tenant costs a few drawings a second. */
const togetherMs = 150;

/** The trail as a screen shows it. */
export interface Trail extends Omit<Pages<TrailRow>, "items"> {
  list: TrailList;
  /** Undefined until the first page is there. */
  items: TrailList["blocks"] | undefined;
  /** Shows the rows that have come. */
  showNew(): void;
}

/** Reads the trail of a tenant page by page and follows it. New rows are shown at once only while `mayMove` says so. */
export function useTrail(tenant: string, filter: TrailFilter, mayMove: () => boolean): Trail {
  const key = JSON.stringify([tenant, filter]);
  const [list, setList] = useState<TrailList>(emptyList);
  const [state, setState] = useState<{ key: string; isKnown: boolean; isLoading: boolean; problem?: string }>({
    key,
    isKnown: false,
    isLoading: true,
  });
  const round = useRef(0);
  const mayMoveNow = useRef(mayMove);
  mayMoveNow.current = mayMove;
  const isOpen = live.isOpen.value;
  /** Whether every row since the first page was read is heard of. */
  const isFollowed = useRef(false);

  const take = (rows: readonly TrailRow[]): void =>
    setList((before) => {
      const all = receiveRows(before, rows);
      return all !== before && mayMoveNow.current() ? showPending(all) : all;
    });

  const load = async (start: TrailList): Promise<void> => {
    const mine = ++round.current;
    const isFirst = start === emptyList;
    if (isFirst) isFollowed.current = live.isOpen.value;
    setState((before) => ({ key, isKnown: !isFirst || (before.isKnown && before.key === key), isLoading: true }));
    try {
      let { cursor } = start;
      const rows: TrailRow[] = [];
      for (let pages = 0; pages < maxEmptyPages && rows.length < pageSize / 4; pages += 1) {
        const page = await request("listAudit", { namespaceId: tenant, ...filter, limit: pageSize, cursor });
        if (mine !== round.current) return;
        rows.push(...page.events);
        ({ cursor } = page);
        if (cursor === undefined) break;
      }
      setList((before) => (isFirst ? beginList(before, rows, cursor) : appendPage(before, rows, cursor)));
      setState({ key, isKnown: true, isLoading: false });
    } catch (error) {
      if (mine === round.current) setState((before) => ({ ...before, problem: messageOf(error), isLoading: false }));
    }
  };

  useEffect(() => {
    setList(emptyList);
    void load(emptyList);
    return () => void round.current++;
  }, [key]);

  useEffect(() => {
    let come: TrailRow[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = listen((event) => {
      if (event.kind !== "trail" || !eventFits(event.event, filter)) return;
      const { strand, sequence, event: row } = event;
      come.push({ strand, sequence, event: row });
      timer ??= setTimeout(() => {
        const rows = come;
        [come, timer] = [[], undefined];
        take(rows);
      }, togetherMs);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [key]);

  // A stream that begins anew begins now: what came before that is read once.
  const isKnown = state.isKnown && state.key === key;
  useEffect(() => {
    if (!isOpen) isFollowed.current = false;
    if (!isOpen || !isKnown || isFollowed.current) return;
    isFollowed.current = true;
    const mine = round.current;
    request("listAudit", { namespaceId: tenant, ...filter, limit: pageSize }).then(
      ({ events }) => mine === round.current && take(events),
      () => (isFollowed.current = false),
    );
  }, [key, isOpen, isKnown]);

  const isCurrent = state.key === key;
  return {
    list: isCurrent ? list : emptyList,
    items: isKnown ? list.blocks : undefined,
    hasMore: isKnown && list.cursor !== undefined,
    isLoading: state.isLoading || !isCurrent,
    problem: isCurrent ? state.problem : undefined,
    more: () => void load(list),
    reload: () => void load(emptyList),
    showNew: () => (list.isGap ? void load(emptyList) : setList(showPending)),
  };
}
