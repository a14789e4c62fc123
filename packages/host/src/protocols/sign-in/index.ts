export { signInProtocol, type SignInServices } from "./sign-in-protocol.ts";
