import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, request } from "../../shared/api.ts";
import { listen, live } from "../../shared/events/live.ts";
import type { Pages } from "../../shared/pages.ts";
import { eventFits } from "turnpike-host/admin-contract/event-filter";
import type { LogFilter, LogRow } from "./log-filter.ts";
import { appendPage, beginList, emptyList, receiveRows, showPending, type LogList } from "./log-list.ts";

const pageSize = 200;
/** How many empty pages are read for one page. With a filter a page may be empty before the end. */
const maxEmptyPages = 5;
/** New rows are taken together, so that a busy tenant costs a few drawings a second. */
const togetherMs = 150;

/** The audit log as a screen shows it. */
export interface AuditLog extends Omit<Pages<LogRow>, "items"> {
  list: LogList;
  /** Undefined until the first page is there. */
  items: LogList["blocks"] | undefined;
  /** Shows the rows that have come. */
  showNew(): void;
}

/** Reads the audit log of a tenant page by page and follows it. New rows are shown at once only while `mayMove` says so. */
export function useAuditLog(tenant: string, filter: LogFilter, mayMove: () => boolean): AuditLog {
  const key = JSON.stringify([tenant, filter]);
  const [list, setList] = useState<LogList>(emptyList);
  const [state, setState] = useState<{ key: string; isKnown: boolean; isLoading: boolean; problem?: string }>({
    key,
    isKnown: false,
    isLoading: true,
  });
  const round = useRef(0);
  const mayMoveNow = useRef(mayMove);
  mayMoveNow.current = mayMove;
  const isOpen = live.isOpen.value;
  /** Whether the stream has told of every row since the first page was read. */
  const isFollowed = useRef(false);

  const take = (rows: readonly LogRow[]): void =>
    setList((before) => {
      const all = receiveRows(before, rows);
      return all !== before && mayMoveNow.current() ? showPending(all) : all;
    });

  const load = async (start: LogList): Promise<void> => {
    const mine = ++round.current;
    const isFirst = start === emptyList;
    if (isFirst) isFollowed.current = live.isOpen.value;
    setState((before) => ({ key, isKnown: !isFirst || (before.isKnown && before.key === key), isLoading: true }));
    try {
      let { cursor } = start;
      const rows: LogRow[] = [];
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
    let come: LogRow[] = [];
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
