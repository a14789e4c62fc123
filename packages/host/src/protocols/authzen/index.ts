export { authzenProtocol } from "./authzen-protocol.ts";
