import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { visibleText } from "../../shared/words.ts";
import { StateShape } from "../../parts/marks.tsx";
import {
  chainOf,
  type Folding,
  grantKey,
  lineOf,
  marksOf,
  moveIn,
  rowLabel,
  rowsOf,
  type TreeNode,
  unfolded,
} from "./grant-tree.ts";
import { cut, layOut, type Measures, measuresFor, type PlacedRow } from "./tree-layout.ts";

/** The delegation tree as a picture. Arrow keys walk in it; what is above a grant lights up with it. */
export function GrantPicture({
  forest,
  selected,
  onSelect,
}: {
  forest: readonly TreeNode[];
  selected: string | undefined;
  onSelect(id: string): void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const nodes = useRef(new Map<string, SVGGElement>());
  const wanted = useRef<string>();
  const [width, setWidth] = useState(900);
  const [folding, setFolding] = useState<Folding>(unfolded);
  const [current, setCurrent] = useState<string>();
  const [pointed, setPointed] = useState<string>();

  useEffect(() => {
    if (frame.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  // The focus follows once the row that it goes to is drawn.
  useEffect(() => {
    if (wanted.current !== undefined) nodes.current.get(wanted.current)?.focus();
    wanted.current = undefined;
  });

  const selectedKey = selected === undefined ? undefined : grantKey(selected);
  const rows = useMemo(() => rowsOf(forest, folding, selectedKey), [forest, folding, selectedKey]);
  const columns = 1 + Math.max(0, ...rows.map(({ depth }) => depth));
  const measures = measuresFor(width, columns);
  const { placed, ...size } = useMemo(() => layOut(rows, measures), [rows, width]);
  const isThere = (key: string | undefined): key is string => rows.some((row) => row.key === key);
  const entrance = [current, selectedKey].find(isThere) ?? rows[0]?.key;
  const chain = chainOf(rows, [pointed, current, selectedKey].find(isThere));
  // What lights up is drawn last, over the others.
  const lines = placed.toSorted((one, other) => Number(chain.has(one.key)) - Number(chain.has(other.key)));
  const isWide = size.width > width;

  const toggle = (key: string): void => {
    const toggled = new Set(folding.toggled);
    if (!toggled.delete(key)) toggled.add(key);
    setFolding({ ...folding, toggled });
  };
  const act = ({ kind, key, node }: PlacedRow): void => {
    if (kind === "grant" && node.entry !== undefined) return onSelect(node.entry.grant.id);
    if (kind === "unread") return onSelect(node.title);
    if (kind === "issuer") return toggle(key);
    const shown = new Map(folding.shown);
    shown.set(node.key, Math.max(10, shown.get(node.key) ?? 0) + 50);
    wanted.current = node.key;
    return setFolding({ ...folding, shown });
  };
  const onKeyDown = (event: KeyboardEvent, row: PlacedRow): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") act(row);
    else {
      const move = moveIn(rows, row.key, event.key);
      if (move === undefined) return;
      if ("toggle" in move) toggle(move.toggle);
      else {
        wanted.current = move.focus;
        setCurrent(move.focus);
      }
    }
    event.preventDefault();
  };

  return (
    <div
      class="picture"
      ref={frame}
      {...(isWide && { role: "region", "aria-label": "Picture of the grants", tabIndex: 0 })}
    >
      <svg
        role="tree"
        aria-label="Grants by who issued them"
        width={size.width}
        height={size.height}
        viewBox={`0 0 ${size.width} ${size.height}`}
      >
        <g aria-hidden="true">
          {lines.map(({ key, line, node }) =>
            line === undefined ? null : (
              <path
                key={key}
                class={`line${chain.has(key) ? " on" : ""}${node.isContext ? " context" : ""}`}
                d={line}
              />
            ),
          )}
        </g>
        {placed.map((row) => (
          <g
            key={row.key}
            ref={(element) => {
              if (element === null) nodes.current.delete(row.key);
              else nodes.current.set(row.key, element);
            }}
            role="treeitem"
            aria-label={visibleText(rowLabel(row))}
            aria-level={row.depth + 1}
            aria-selected={row.key === selectedKey}
            aria-expanded={row.kind === "more" || row.node.children.length === 0 ? undefined : row.isOpen}
            tabIndex={row.key === entrance ? 0 : -1}
            class={classOf(row, chain, selectedKey)}
            transform={`translate(${row.x} ${row.y})`}
            onClick={() => act(row)}
            onKeyDown={(event) => onKeyDown(event, row)}
            onFocus={() => setCurrent(row.key)}
            onBlur={() => setCurrent(undefined)}
            onPointerEnter={() => setPointed(row.key)}
            onPointerLeave={() => setPointed(undefined)}
          >
            <Box row={row} measures={measures} />
            <title>{visibleText(rowLabel(row))}</title>
          </g>
        ))}
        {/* What is drawn on a node is no part of it: it is read out by its label, in full where the drawing is cut. */}
        <g aria-hidden="true">
          {placed.map((row) => (
            <g
              key={row.key}
              class={`${classOf(row, chain, selectedKey)} face`}
              transform={`translate(${row.x} ${row.y})`}
            >
              <Face row={row} measures={measures} />
            </g>
          ))}
          {placed.map(
            (row) =>
              row.kind !== "more" &&
              row.node.children.length > 0 && (
                <Fold key={row.key} row={row} measures={measures} onToggle={() => toggle(row.key)} />
              ),
          )}
        </g>
      </svg>
    </div>
  );
}

function classOf({ key, kind, node }: PlacedRow, chain: ReadonlySet<string>, selected: string | undefined): string {
  const parts = ["node", kind, node.entry?.state, key === selected && "selected", chain.has(key) && "on"];
  return [...parts, node.isContext && kind === "grant" && "context"].filter(Boolean).join(" ");
}

/** How wide a letter is, about, of the title and of the fixed pitch below it. */
const [titleLetter, codeLetter] = [7.6, 7.6];

function Box({ row: { kind, node }, measures: { nodeWidth, nodeHeight } }: { row: PlacedRow; measures: Measures }) {
  const middle = nodeHeight / 2;
  if (kind === "more") return <rect class="box" y={middle - 14} width={110} height={28} rx={14} />;
  return <rect class="box" width={nodeWidth} height={nodeHeight} rx={node.entry === undefined ? middle : 6} />;
}

function Face({ row, measures: { nodeWidth, nodeHeight } }: { row: PlacedRow; measures: Measures }) {
  const { kind, node, more } = row;
  const middle = nodeHeight / 2;
  if (kind === "more")
    return (
      <text class="title" x={55} y={middle + 4} text-anchor="middle">
        {more} more
      </text>
    );
  const { entry, title } = node;
  const marks = entry === undefined ? "" : marksOf(entry);
  const left = entry === undefined ? 18 : 30;
  const room = nodeWidth - left - 12;
  return (
    <>
      {entry !== undefined && <StateShape state={entry.state} x={15} y={middle} />}
      {/* How wide a letter is depends on its font: what is wider than thought ends where the node does. */}
      <svg width={nodeWidth - 8} height={nodeHeight}>
        <text class="title" x={left} y={middle - 4}>
          <tspan>{cut(title, room / titleLetter)}</tspan>
        </text>
        <text class="code" x={left} y={middle + 13}>
          {marks !== "" && <tspan class="label">{marks} </tspan>}
          <tspan>{cut(lineOf(node), room / codeLetter - marks.length - 1)}</tspan>
        </text>
      </svg>
    </>
  );
}

/** Opens and closes a node with the pointer; keys do it with the arrows. */
function Fold({
  row: { isOpen, node, x, y },
  measures: { nodeWidth, nodeHeight },
  onToggle,
}: {
  row: PlacedRow;
  measures: Measures;
  onToggle(): void;
}) {
  const text = isOpen ? "−" : `+${node.below}`;
  const wide = isOpen ? 18 : 14 + text.length * 7;
  return (
    <g class="fold" transform={`translate(${x + nodeWidth - 2} ${y + nodeHeight / 2})`} onClick={onToggle}>
      <rect x={-6} y={-9} width={wide} height={18} rx={9} />
      <text x={wide / 2 - 6} y={4} text-anchor="middle">
        {text}
      </text>
    </g>
  );
}
