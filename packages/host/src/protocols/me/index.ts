export { personProtocol, type PersonServices } from "./person-protocol.ts";
