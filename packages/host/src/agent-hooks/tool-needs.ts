import type { JsonObject } from "turnpike/contracts";
import { diskPlace } from "./disk-place.ts";
import { isPath, maxNeeds, type Needs, undecided } from "./need.ts";
import { patchedFiles } from "./patched-files.ts";
import { shellNeeds } from "./shell-needs.ts";

/** A call of one of an agent's tools. */
export interface AgentCall {
  tool: string;
  input: JsonObject;
  /** The folder that the agent works in. */
  cwd: unknown;
}

/** What such a call needs, and what of it a person is asked about. */
interface Rule {
  needs(call: AgentCall): Needs;
  arguments?(call: AgentCall): JsonObject;
  isRead?: true;
}

/** A model words these anew at each try. An approval of a command is for the folder that it was asked in. */
function commandOf({ input, cwd }: AgentCall): JsonObject {
  const { description: _description, timeout: _timeout, ...rest } = input;
  return { ...rest, ...(typeof cwd === "string" && { cwd }) };
}

const shell: Rule = {
  needs: ({ input: { command } }) =>
    typeof command === "string" ? shellNeeds(command) : undecided("its command is no text"),
  arguments: commandOf,
};

const patch: Rule = {
  needs: ({ input, cwd }) => onDisk("write", patchedFiles(input["command"] ?? input["input"]) ?? [], cwd),
  arguments: commandOf,
};

const undecidable: Rule = { needs: ({ tool }) => undecided(`commands of ${tool} are not understood here`) };

function file(action: "read" | "write", name: string): Rule {
  return {
    needs: ({ input, cwd }) => onDisk(action, [input[name]], cwd),
    ...(action === "read" && { isRead: true }),
  };
}

/** A search below a folder, that of the agent unless one is named. A pattern that names a place itself could leave it. */
function searched(patternName?: string): Rule {
  return {
    needs({ input, cwd }) {
      const pattern = patternName === undefined ? "" : input[patternName];
      if (typeof pattern !== "string" || /^(?:[\\/~]|[A-Za-z]:)|\.\./.test(pattern))
        return undecided("its pattern may lead out of the folder that is searched");
      return onDisk("read", [input["path"] ?? cwd], cwd);
    },
    isRead: true,
  };
}

/** The tools of Claude Code and Codex that reach a shell or the disk. What else there is needs `call`. */
const rules: Readonly<Record<string, Rule>> = {
  Bash: shell,
  Monitor: shell,
  PowerShell: undecidable,
  apply_patch: patch,
  Read: file("read", "file_path"),
  NotebookRead: file("read", "notebook_path"),
  LS: searched(),
  Grep: searched(),
  Glob: searched("pattern"),
  Write: file("write", "file_path"),
  Edit: file("write", "file_path"),
  MultiEdit: file("write", "file_path"),
  NotebookEdit: file("write", "notebook_path"),
};

const called: Rule = {
  needs: ({ tool }) =>
    isPath([tool])
      ? { kind: "needs", needs: [{ action: "call", resource: { namespace: "agent.tools", path: [tool] } }] }
      : undecided("its tool has a name that no resource can have"),
};

/** What a call needs, with what a person is shown of it and whether it changes anything. */
export function callNeeds(call: AgentCall): { needs: Needs; arguments: JsonObject; isRead: boolean } {
  const rule = (Object.hasOwn(rules, call.tool) ? rules[call.tool] : undefined) ?? called;
  return {
    needs: rule.needs(call),
    arguments: rule.arguments?.(call) ?? call.input,
    isRead: rule.isRead === true,
  };
}

function onDisk(action: "read" | "write", files: readonly unknown[], cwd: unknown): Needs {
  if (files.length === 0) return undecided("the files of its patch cannot be told");
  const places = new Map<string, string[]>();
  for (const name of files) {
    const place = diskPlace(name, cwd);
    if (place.kind === "undecided") return place;
    places.set(place.path.join("/"), place.path);
  }
  if (places.size > maxNeeds) return undecided("it changes too many files at once");
  return {
    kind: "needs",
    needs: [...places.values()].map((path) => ({ action, resource: { namespace: "disk", path } })),
  };
}
