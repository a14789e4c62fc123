export { consoleProtocol } from "./console-protocol.ts";
