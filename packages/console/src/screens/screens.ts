import type { ComponentType } from "preact";
import type { AdminRouteName } from "turnpike-host/management";
import { AccessScreen } from "./access/access-screen.tsx";
import { GrantsScreen } from "./grants/grants-screen.tsx";
import { NowScreen } from "./now/now-screen.tsx";
import { QuestionsScreen } from "./questions/questions-screen.tsx";
import { ToolsScreen } from "./tools/tools-screen.tsx";
import { TrailScreen } from "./trail/trail-screen.tsx";
import { TurnsScreen } from "./turns/turns-screen.tsx";
import { WhyScreen } from "./why/why-screen.tsx";

/** One screen: a row here, and a folder beside this file. */
export interface Screen {
  /** Its step in the address. */
  name: string;
  title: string;
  /** The route that it is nothing without: who may not use it is not shown the screen. */
  needs: AdminRouteName;
  View: ComponentType;
}

/** The screens in the order of the menu. */
export const screens: readonly Screen[] = [
  { name: "now", title: "Now", needs: "readActivity", View: NowScreen },
  { name: "questions", title: "Questions", needs: "listEscalations", View: QuestionsScreen },
  { name: "turns", title: "Turns", needs: "listAllTurns", View: TurnsScreen },
  { name: "grants", title: "Grants", needs: "listGrants", View: GrantsScreen },
  { name: "why", title: "Why", needs: "explain", View: WhyScreen },
  { name: "trail", title: "Trail", needs: "listAudit", View: TrailScreen },
  { name: "access", title: "Access", needs: "listCredentials", View: AccessScreen },
  { name: "tools", title: "Tools", needs: "readNamespaces", View: ToolsScreen },
];
