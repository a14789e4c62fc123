export { personProtocol } from "./person-protocol.ts";
