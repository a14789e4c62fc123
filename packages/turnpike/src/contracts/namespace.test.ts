import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { namespaceCatalog, namespaceEntry, namespaceUpdate } from "../../test/valid-objects.ts";
import { NamespaceCatalogSchema, NamespaceEntrySchema, NamespaceUpdateSchema } from "./namespace.ts";

/** `name-000`, `name-001` and so on: sorted, each once. */
function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `name-${String(index).padStart(3, "0")}`);
}

testContract("a namespace entry", NamespaceEntrySchema, [
  ...shapeRows(namespaceEntry, { required: ["namespace", "sources", "toolCount", "enabled"] }),
  { name: "with 1 source", value: { ...namespaceEntry, sources: ["host"] } },
  { name: "with 64 sources", value: { ...namespaceEntry, sources: names(64) } },
  { name: "with 0 sources", value: { ...namespaceEntry, sources: [] }, refusedAt: "/sources" },
  { name: "with 65 sources", value: { ...namespaceEntry, sources: names(65) }, refusedAt: "/sources" },
  { name: "with unsorted sources", value: { ...namespaceEntry, sources: ["mcp", "host"] }, refusedAt: "/sources" },
  { name: "with a source twice", value: { ...namespaceEntry, sources: ["host", "host"] }, refusedAt: "/sources" },
  { name: "with 0 tools", value: { ...namespaceEntry, toolCount: 0 } },
  { name: "with -1 tools", value: { ...namespaceEntry, toolCount: -1 }, refusedAt: "/toolCount" },
  { name: "with half a tool", value: { ...namespaceEntry, toolCount: 0.5 }, refusedAt: "/toolCount" },
  { name: "that is enabled by 1", value: { ...namespaceEntry, enabled: 1 }, refusedAt: "/enabled" },
]);

function catalogOf(entries: object[], enabled: number): object {
  return { namespaces: entries, summary: { enabled, disabled: entries.length - enabled, total: entries.length } };
}

const entries = (count: number) => names(count).map((namespace) => ({ ...namespaceEntry, namespace }));
const [files, mail] = namespaceCatalog.namespaces;

testContract("a namespace catalog", NamespaceCatalogSchema, [
  ...shapeRows(namespaceCatalog, { required: ["namespaces", "summary"] }),
  { name: "of 0 namespaces", value: catalogOf([], 0) },
  { name: "of 256 namespaces", value: catalogOf(entries(256), 256) },
  { name: "of 257 namespaces", value: catalogOf(entries(257), 257), refusedAt: "/namespaces" },
  { name: "that is not sorted", value: { ...namespaceCatalog, namespaces: [mail, files] }, refusedAt: "/namespaces" },
  { name: "with a namespace twice", value: catalogOf([namespaceEntry, namespaceEntry], 2), refusedAt: "/namespaces" },
  {
    name: "whose summary counts too many enabled",
    value: { ...namespaceCatalog, summary: { enabled: 2, disabled: 1, total: 2 } },
    refusedAt: "/summary",
  },
  {
    name: "whose summary counts too few disabled",
    value: { ...namespaceCatalog, summary: { enabled: 1, disabled: 0, total: 2 } },
    refusedAt: "/summary",
  },
  {
    name: "whose summary has another total",
    value: { ...namespaceCatalog, summary: { enabled: 1, disabled: 1, total: 3 } },
    refusedAt: "/summary",
  },
  {
    name: "whose summary leaves the total out",
    value: { ...namespaceCatalog, summary: { enabled: 1, disabled: 1 } },
    refusedAt: "/summary/total",
  },
]);

testContract("a namespace update", NamespaceUpdateSchema, [
  ...shapeRows(namespaceUpdate, { required: [], optional: ["enable", "disable"] }),
  { name: "that is {}", value: {} },
  { name: "with empty lists", value: { enable: [], disable: [] } },
  { name: "with a name twice in one list", value: { enable: ["files", "files"] } },
  { name: "in no order", value: { enable: ["mail", "files"] } },
  { name: "with names that differ in a space", value: { enable: ["files"], disable: ["files "] } },
  {
    name: "with a name in both lists",
    value: { enable: ["files"], disable: ["mail", "files"] },
    refusedAt: "/disable",
  },
  { name: "with 256 names a list", value: { enable: Array(256).fill("files"), disable: Array(256).fill("mail") } },
  { name: "with 257 names to enable", value: { enable: Array(257).fill("files") }, refusedAt: "/enable" },
  { name: "with 257 names to disable", value: { disable: Array(257).fill("files") }, refusedAt: "/disable" },
  { name: "with an empty name", value: { enable: ["files", ""] }, refusedAt: "/enable/1" },
  { name: "with a name of 257 characters", value: { disable: ["a".repeat(257)] }, refusedAt: "/disable/0" },
  { name: "whose list is a string", value: { enable: "files" }, refusedAt: "/enable" },
]);
