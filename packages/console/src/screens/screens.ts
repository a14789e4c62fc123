import type { ComponentType } from "preact";
import type { ScreenAddress } from "../shell/choose-view.ts";
import { AccessScreen } from "./access/access-screen.tsx";
import { GrantsScreen } from "./grants/grants-screen.tsx";
import { NowScreen } from "./now/now-screen.tsx";
import { EscalationsScreen } from "./escalations/escalations-screen.tsx";
import { ToolsScreen } from "./tools/tools-screen.tsx";
import { AuditLogScreen } from "./audit-log/log-screen.tsx";
import { TurnsScreen } from "./turns/turns-screen.tsx";
import { WebhooksScreen } from "./webhooks/webhooks-screen.tsx";
import { WhyScreen } from "./why/why-screen.tsx";

/** One screen: a row here, and a folder beside this file. */
export interface Screen extends ScreenAddress {
  title: string;
  View: ComponentType;
}

/** The screens in the order of the menu. */
export const screens: readonly Screen[] = [
  { name: "now", title: "Now", needs: "readActivity", below: [""], View: NowScreen },
  {
    name: "questions",
    title: "Questions",
    needs: "listEscalations",
    below: ["", "*", "*/batch"],
    View: EscalationsScreen,
  },
  { name: "turns", title: "Turns", needs: "listAllTurns", below: ["", "*"], View: TurnsScreen },
  {
    name: "grants",
    title: "Grants",
    needs: "listGrants",
    below: ["", "issue", "who", "reach", "ever", "rules", "*", "*/derive", "*/revoke"],
    View: GrantsScreen,
  },
  { name: "why", title: "Why", needs: "explain", below: ["", "what-if", "what-if/revoke"], View: WhyScreen },
  { name: "trail", title: "Audit log", needs: "listAudit", below: ["", "trace/*"], View: AuditLogScreen },
  {
    name: "access",
    title: "Access",
    needs: "listCredentials",
    below: ["", "people", "operators", "*"],
    View: AccessScreen,
  },
  { name: "webhooks", title: "Webhooks", needs: "listDeliveries", below: [""], View: WebhooksScreen },
  {
    name: "tools",
    title: "Tools",
    needs: "readNamespaces",
    below: ["", "namespaces", "servers", "servers/*", "try"],
    View: ToolsScreen,
  },
];
