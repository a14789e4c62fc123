export { ClientSecretError } from "./client-secret.ts";
export { identify, type Identity, type PersonKind, type RefusedSignIn } from "./identify.ts";
export {
  type AdmittedPerson,
  admitSignedIn,
  beginPersonSession,
  endPersonSession,
  findSignedIn,
  type PersonPorts,
  requirePerson,
} from "./person-access.ts";
export { createPersonStore, type Person, type PersonStore } from "./person-store.ts";
export {
  type IdentityProvider,
  openProvider,
  ProviderAwayError,
  readProvider,
  SignInRefusedError,
} from "./provider.ts";
export {
  addressBehind,
  beginSignIn,
  type BegunSignIn,
  destinationOf,
  isAnswerTo,
  providerSessionEnd,
  readBegun,
  secretsOf,
  writeBegun,
} from "./sign-in.ts";
export { nameOf, type ProviderConfig, providersOf, type SignInConfig, SignInConfigSchema } from "./sign-in-config.ts";
