/** Where the provider sends browsers back to. */
export const callbackPath = "/sign-in/callback";

/** Where a sign-in begins that leads to an address, with one provider or with one that the person chooses. */
export function linkTo(to: string, provider?: string): string {
  return `/sign-in?${new URLSearchParams({ to, ...(provider !== undefined && { provider }) }).toString()}`;
}
