import { existsSync } from "node:fs";
import { nameOf, type ProviderConfig, providersOf, readProvider, type SignInConfig } from "../people/index.ts";
import { bad, good, type Finding } from "./finding.ts";

/** Checks that each identity provider answers as one, and that its secret is there. A host starts without its providers. */
export async function checkSignIn(signIn: SignInConfig | undefined): Promise<Finding[]> {
  return (await Promise.all(providersOf(signIn).map(checkProvider))).flat();
}

async function checkProvider(config: ProviderConfig): Promise<Finding[]> {
  const { issuer, clientSecretFile } = config;
  const name = nameOf(config);
  if (clientSecretFile !== undefined && !existsSync(clientSecretFile))
    return [bad("sign-in", `${clientSecretFile} does not exist. Correct clientSecretFile of ${name}.`)];
  try {
    await readProvider(config);
    return [good("sign-in", `${issuer} answers as an identity provider`)];
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    const why = cause instanceof Error ? ` (${cause.message})` : "";
    return [
      bad("sign-in", `${issuer} does not answer as an identity provider${why}. Check signIn.issuer, and the network.`),
    ];
  }
}
