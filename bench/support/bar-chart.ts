import { digits, isReached, shareReached, type Goal } from "./results.ts";

const rowHeight = 26;
const labelWidth = 330;
const barWidth = 270;
const width = 860;
/** Longer bars end here, with an arrow: how far beyond a goal something is matters less than whether it is there. */
const mostShown = 1.5;

/** One bar a goal: how much of it is reached, with a line where all of it would be. Legible on light and on dark pages. */
export function barChart(title: string, goals: readonly Goal[]): string {
  const top = 64;
  const height = top + goals.length * rowHeight + 16;
  const goalX = labelWidth + barWidth / mostShown;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">
  <title>${escapeText(title)}</title>
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .quiet { fill: #59636e; }
    .title { font-size: 16px; font-weight: 600; }
    .reached { fill: #1a7f37; }
    .missed { fill: #bc4c00; }
    .track { fill: #818b9833; }
    .goal { stroke: #1f2328; stroke-width: 2; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .quiet { fill: #9198a1; }
      .reached { fill: #3fb950; }
      .missed { fill: #f0883e; }
      .goal { stroke: #f0f6fc; }
    }
  </style>
  <text class="title" x="8" y="22">${escapeText(title)}</text>
  <text class="quiet" x="8" y="44">Longer is better. A bar that gets to the line has reached its goal.</text>
${goals.map((goal, place) => row(goal, top + place * rowHeight)).join("\n")}
  <line class="goal" x1="${round(goalX)}" x2="${round(goalX)}" y1="${top - 6}" y2="${height - 14}"/>
</svg>
`;
}

function row(goal: Goal, y: number): string {
  const share = shareReached(goal);
  const shown = Number.isFinite(share) ? Math.min(share, mostShown) : share > 0 ? mostShown : 0;
  const length = round((shown / mostShown) * barWidth);
  const { name, measured, goal: wanted, side, unit } = goal;
  const beyond = share > mostShown ? " ▸" : "";
  const words = `${beyond} ${digits(measured)} ${unit} (${side} ${wanted})`.trim();
  return `  <text x="${labelWidth - 10}" y="${y + 14}" text-anchor="end">${escapeText(name)}</text>
  <rect class="track" x="${labelWidth}" y="${y + 2}" width="${barWidth}" height="16" rx="3"/>
  <rect class="${isReached(goal) ? "reached" : "missed"}" x="${labelWidth}" y="${y + 2}" width="${length}" height="16" rx="3"/>
  <text class="quiet" x="${labelWidth + barWidth + 10}" y="${y + 14}">${escapeText(words)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
