import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { IdentifierSchema, isSortedSet } from "./scalars.ts";

const count = z.int().min(0);

export const NamespaceEntrySchema = strictObject({
  namespace: IdentifierSchema,
  sources: boundedArray(IdentifierSchema, { min: 1, max: 64 }).refine(
    isSortedSet,
    "expected sources sorted, each once",
  ),
  toolCount: count,
  enabled: z.boolean(),
});

/** One tool namespace: where its tools come from, how many, and whether it is switched on. */
export type NamespaceEntry = z.infer<typeof NamespaceEntrySchema>;

export const NamespaceCatalogSchema = strictObject({
  namespaces: boundedArray(NamespaceEntrySchema, { max: 256 }).refine(
    (entries) => isSortedSet(entries.map((entry) => entry.namespace)),
    "expected namespaces sorted, each once",
  ),
  summary: strictObject({ enabled: count, disabled: count, total: count }),
}).refine(({ namespaces, summary }) => agrees(namespaces, summary), {
  path: ["summary"],
  message: "expected counts that agree with the namespaces",
});

/** The tool namespaces of one access context. */
export type NamespaceCatalog = z.infer<typeof NamespaceCatalogSchema>;

function agrees(entries: NamespaceEntry[], summary: { enabled: number; disabled: number; total: number }): boolean {
  const enabled = entries.filter((entry) => entry.enabled).length;
  return (
    summary.total === entries.length && summary.enabled === enabled && summary.disabled === entries.length - enabled
  );
}

const names = boundedArray(IdentifierSchema, { max: 256 });

export const NamespaceUpdateSchema = strictObject({ enable: names.optional(), disable: names.optional() }).refine(
  ({ enable = [], disable = [] }) => !disable.some((name) => enable.includes(name)),
  {
    path: ["disable"],
    message: "expected no name that is also in enable",
  },
);

/** Which tool namespaces to switch on and off; both lists are sets. */
export type NamespaceUpdate = z.infer<typeof NamespaceUpdateSchema>;
