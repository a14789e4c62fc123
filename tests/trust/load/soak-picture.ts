/** What was seen at one instant. */
export interface Sample {
  readonly seconds: number;
  /** MiB that the process has of the system. */
  readonly memory: number;
  /** MiB of it that JavaScript has in use, garbage included. */
  readonly heap: number;
  readonly handles: number;
  /** Milliseconds that all but the slowest hundredth of the calls before it took at most. */
  readonly p99: number;
}

const [width, height, left, top, gap] = [860, 130, 60, 46, 46];

const rows = [
  { name: "memory, MiB", of: ({ memory }: Sample) => memory },
  { name: "in use by JavaScript, MiB", of: ({ heap }: Sample) => heap },
  { name: "files and sockets", of: ({ handles }: Sample) => handles },
  { name: "99 of 100 calls, ms", of: ({ p99 }: Sample) => p99 },
];

/** The samples over time, one below the other. Legible on light and on dark pages. */
export function drawSoak(samples: readonly Sample[]): string {
  const end = Math.max(1, samples.at(-1)?.seconds ?? 1);
  const total = top + rows.length * (height + gap);
  const title = `A host under mixed load for ${Math.round(end / 6) / 10} minutes`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}" role="img" aria-labelledby="title desc">
  <title id="title">${title}</title>
  <desc id="desc">${describe(samples)}</desc>
  <style>
    text { font: 13px system-ui, sans-serif; fill: #59636e; }
    .title { font-size: 16px; font-weight: 600; fill: #1f2328; }
    .line { fill: none; stroke: #0969da; stroke-width: 1.5; }
    .axis { stroke: #818b9866; }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1; }
      .title { fill: #f0f6fc; }
      .line { stroke: #4493f8; }
    }
  </style>
  <text class="title" x="8" y="22">${title}</text>
${rows.map(({ name, of }, place) => drawRow(samples, { name, of, end, y: top + place * (height + gap) })).join("\n")}
</svg>
`;
}

/** The picture in words: where each row began, its highest point and where it ended. */
function describe(samples: readonly Sample[]): string {
  const words = rows.map(({ name, of }) => {
    const values = samples.map((sample) => Math.round(of(sample)));
    return `${name}: ${values[0] ?? 0} at first, ${Math.max(0, ...values)} at most, ${values.at(-1) ?? 0} at the end`;
  });
  return `Four rows over the same time. ${words.join(". ")}.`;
}

function drawRow(
  samples: readonly Sample[],
  { name, of, end, y }: { name: string; of(sample: Sample): number; end: number; y: number },
): string {
  const most = Math.max(1, ...samples.map(of));
  const points = samples.map((sample) => {
    const x = left + (sample.seconds / end) * (width - left - 10);
    return `${x.toFixed(1)},${(y + height - (of(sample) / most) * (height - 20)).toFixed(1)}`;
  });
  return `  <text x="8" y="${y + 12}">${name}</text>
  <text x="${left - 8}" y="${y + 24}" text-anchor="end">${Math.round(most)}</text>
  <text x="${left - 8}" y="${y + height}" text-anchor="end">0</text>
  <line class="axis" x1="${left}" x2="${width - 10}" y1="${y + height}" y2="${y + height}"/>
  <polyline class="line" points="${points.join(" ")}"/>`;
}
