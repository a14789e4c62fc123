export { signInProtocol } from "./sign-in-protocol.ts";
