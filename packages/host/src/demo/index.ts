export { type DemoProvider, openDemoProvider } from "./demo-provider.ts";
export { demoScreen } from "./demo-screen.ts";
export { type DemoTokens, openDemoWorld } from "./demo-world.ts";
export { paymentTool } from "./payment-tool.ts";
