export { demoScreen } from "./demo-screen.ts";
export { openDemoWorld } from "./demo-world.ts";
