import { readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";

/** What a room's `index.ts` exports; `strays` are the statements that are no named re-export. */
export interface RoomExports {
  readonly values: readonly string[];
  readonly types: readonly string[];
  readonly strays: readonly string[];
}

/** Reads the names off an `index.ts`; `verbatimModuleSyntax` makes it mark every type as one. */
export function readRoomExports(file: string): RoomExports {
  const text = readFileSync(file, "utf8");
  const values: string[] = [];
  const types: string[] = [];
  const strays: string[] = [];
  for (const statement of parseSync(file, text).program.body) {
    if (statement.type !== "ExportNamedDeclaration" || !statement.source) {
      strays.push(text.slice(statement.start, statement.end));
      continue;
    }
    for (const { exported, exportKind } of statement.specifiers) {
      const names = statement.exportKind === "type" || exportKind === "type" ? types : values;
      names.push(exported.type === "Literal" ? exported.value : exported.name);
    }
  }
  return { values: values.toSorted(), types: types.toSorted(), strays };
}
