export { hooksProtocol } from "./hooks-protocol.ts";
