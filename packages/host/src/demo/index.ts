export { demoScreen } from "./demo-screen.ts";
export { openDemoWorld } from "./demo-world.ts";
export { paymentTool } from "./payment-tool.ts";
