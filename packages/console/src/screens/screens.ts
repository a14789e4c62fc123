import type { ComponentType } from "preact";
import type { AdminRouteName } from "turnpike-host/management";
import { AccessScreen } from "./access/access-screen.tsx";
import { GrantsScreen } from "./grants/grants-screen.tsx";
import { NowScreen } from "./now/now-screen.tsx";
import { QuestionsScreen } from "./questions/questions-screen.tsx";
import { ToolsScreen } from "./tools/tools-screen.tsx";
import { TrailScreen } from "./trail/trail-screen.tsx";
import { TurnsScreen } from "./turns/turns-screen.tsx";
import { WebhooksScreen } from "./webhooks/webhooks-screen.tsx";
import { WhyScreen } from "./why/why-screen.tsx";

/** One screen: a row here, and a folder beside this file. */
export interface Screen {
  /** Its step in the address. */
  name: string;
  title: string;
  /** The route that it is nothing without: who may not use it is not shown the screen. */
  needs: AdminRouteName;
  /** How many steps of an address may follow its name: a longer one is of no screen. Any number unless given. */
  steps?: number;
  View: ComponentType;
}

/** The screens in the order of the menu. */
export const screens: readonly Screen[] = [
  { name: "now", title: "Now", needs: "readActivity", steps: 0, View: NowScreen },
  { name: "questions", title: "Questions", needs: "listEscalations", steps: 2, View: QuestionsScreen },
  { name: "turns", title: "Turns", needs: "listAllTurns", steps: 1, View: TurnsScreen },
  { name: "grants", title: "Grants", needs: "listGrants", steps: 2, View: GrantsScreen },
  { name: "why", title: "Why", needs: "explain", steps: 2, View: WhyScreen },
  { name: "trail", title: "Trail", needs: "listAudit", steps: 2, View: TrailScreen },
  { name: "access", title: "Access", needs: "listCredentials", steps: 1, View: AccessScreen },
  { name: "webhooks", title: "Webhooks", needs: "listDeliveries", steps: 0, View: WebhooksScreen },
  { name: "tools", title: "Tools", needs: "readNamespaces", steps: 2, View: ToolsScreen },
];
