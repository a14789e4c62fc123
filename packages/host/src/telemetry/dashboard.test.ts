import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  targets?: { expr: string; datasource: { uid: string } }[];
}

const dashboard = JSON.parse(
  readFileSync(new URL("../../../../docs/grafana/turnpike.json", import.meta.url), "utf8"),
) as { schemaVersion: number; panels: Panel[]; templating: { list: { name: string; definition?: string }[] } };

const charts = dashboard.panels.filter(({ type }) => type !== "row");
const targets = charts.flatMap((panel) => panel.targets ?? []);
const expressions = [
  ...targets.map(({ expr }) => expr),
  ...dashboard.templating.list.map((one) => one.definition ?? ""),
];
const shown = new Set(expressions.flatMap((expression) => expression.match(/\b(turnpike|process|nodejs)_\w+/g) ?? []));

const text = await createMetrics().text();
const exported = Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm), ([, name = "", type = ""]) => ({ name, type }));

/** The names under which Prometheus stores a metric. */
function seriesOf({ name, type }: { name: string; type: string }): string[] {
  return type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

test("every metric that the dashboard names is exported", () => {
  const series = new Set(exported.flatMap(seriesOf));
  expect(shown.size).toBeGreaterThan(0);
  expect([...shown].filter((name) => !series.has(name))).toEqual([]);
});

test("every metric of the host is shown in some panel", () => {
  const own = exported.filter(({ name }) => name.startsWith("turnpike_"));
  const inPanels = targets.map(({ expr }) => expr).join("\n");
  expect(own.map(({ name }) => name)).toEqual([
    "turnpike_requests_total",
    "turnpike_request_duration_seconds",
    "turnpike_decisions_total",
    "turnpike_tool_calls_total",
    "turnpike_turns_total",
    "turnpike_turn_duration_seconds",
    "turnpike_turns_running",
    "turnpike_store_duration_seconds",
    "turnpike_webhook_messages_total",
    "turnpike_spans_dropped_total",
    "turnpike_log_lines_dropped_total",
    "turnpike_queue_depth",
    "turnpike_reports",
    "turnpike_reports_refused_total",
  ]);
  const hidden = own.filter((metric) => !seriesOf(metric).some((name) => new RegExp(`\\b${name}\\b`).test(inPanels)));
  expect(hidden).toEqual([]);
});

test("every chart asks the data source that was chosen, for the hosts that were chosen", () => {
  expect(dashboard.templating.list.map(({ name }) => name)).toEqual(["datasource", "instance"]);
  for (const { datasource } of [...charts, ...targets]) expect(datasource?.uid).toBe("${datasource}");
  for (const { expr } of targets) expect(expr).toContain('instance=~"$instance"');
});

test("every panel has an id of its own, a title and words that say what it shows", () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  for (const { title, description } of charts) expect([title, description]).not.toContain(undefined);
  expect(dashboard.schemaVersion).toBe(42);
});
