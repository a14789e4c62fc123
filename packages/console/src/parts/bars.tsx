/** One bar: its parts are stacked from the bottom. */
export interface Bar {
  label: string;
  parts: readonly { tone: "good" | "bad" | "wait" | "quiet"; count: number }[];
}

/** A small bar chart that fills its width. Those who do not see it read the summary. */
export function Bars({ summary, bars }: { summary: string; bars: readonly Bar[] }) {
  const height = 56;
  const most = Math.max(1, ...bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0)));
  const step = 100 / Math.max(1, bars.length);
  return (
    <svg class="bars" viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" role="img" aria-label={summary}>
      {bars.map(({ label, parts }, place) => {
        let base = height;
        return (
          <g key={label}>
            {parts.map(({ tone, count }) => {
              const size = (count / most) * (height - 2);
              base -= size;
              return <rect key={tone} class={tone} x={place * step} y={base} width={step * 0.8} height={size} />;
            })}
            <title>{label}</title>
          </g>
        );
      })}
    </svg>
  );
}
