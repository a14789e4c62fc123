export { adminProtocol } from "./admin-protocol.ts";
