/** As much of a browser as a sign-in needs: it stores cookies, and follows where it is sent one step at a time. */
export interface TestBrowser {
  readonly cookies: Map<string, string>;
  /** Opens an address, at a host or at a provider. A host gets the cookies of its own. */
  open(address: string, headers?: Record<string, string>): Promise<Response>;
  /** Opens it, and follows to the end; returns the last address, and the answer there. */
  follow(address: string): Promise<{ address: string; response: Response }>;
  /** What a form of the host sends. */
  post(path: string, form: string, headers?: Record<string, string>): Promise<Response>;
  /** What a page of the host sends. */
  send(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** A browser at a host, which is called as Fetch calls. */
export function testBrowser(origin: string, host: (request: Request) => Promise<Response>): TestBrowser {
  const cookies = new Map<string, string>();
  const cookieHeader = (): Record<string, string> =>
    cookies.size === 0 ? {} : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
  const store = (response: Response): Response => {
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  const { host: authority } = new URL(origin);
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { host: authority, ...cookieHeader(), ...(init.headers as Record<string, string>) };
    return store(await host(new Request(new URL(path, origin), { ...init, headers })));
  };
  const browser: TestBrowser = {
    cookies,
    open: (address, headers = {}) =>
      new URL(address, origin).origin === origin ? ask(address, { headers }) : fetch(address, { redirect: "manual" }),
    async follow(address) {
      let at = address;
      for (let steps = 0; steps < 10; steps += 1) {
        const response = await browser.open(at);
        const next = response.headers.get("location");
        if (next === null) return { address: at, response };
        await response.body?.cancel();
        at = new URL(next, new URL(at, origin)).href;
        // The page itself is not served here: its code is in the address.
        if (at.includes("#")) return { address: at, response };
      }
      throw new Error(`It goes in circles at ${at}.`);
    },
    post: (path, form, headers = {}) => {
      const type = "application/x-www-form-urlencoded";
      const sent = { origin, "sec-fetch-site": "same-origin", "content-type": type, ...headers };
      return ask(path, { method: "POST", redirect: "manual", headers: sent, body: form });
    },
    send: (path, body, headers = {}) =>
      ask(path, {
        method: body === undefined ? "GET" : "POST",
        headers: { ...(body !== undefined && { origin }), "sec-fetch-site": "same-origin", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
  return browser;
}
