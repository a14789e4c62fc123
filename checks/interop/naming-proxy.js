import { once } from "node:events";
import { createServer, request as send } from "node:http";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

const offered = "mcp_governed_";

/**
 * The conformance suite knows no credentials, and calls tools and prompts by the names that the governed server gives them.
 * This proxy adds the credential and translates the names, and changes nothing else.
 */
export async function startNamingProxy({ url, token }) {
  const { hostname, port } = new URL(url);
  const proxy = createServer(async (incoming, outgoing) => {
    const { method, url: path } = incoming;
    const { headers, body } = translate(incoming.headers, await text(incoming));
    headers["authorization"] = `Bearer ${token}`;
    const forwarded = send({ hostname, port, method, path, headers });
    forwarded.once("response", async (answer) => {
      const { "content-length": _length, ...answered } = answer.headers;
      outgoing.writeHead(answer.statusCode, answered);
      try {
        // Line by line, so that each event arrives when it is said.
        for await (const line of createInterface(answer)) outgoing.write(`${line.replaceAll(offered, "")}\n`);
        outgoing.end();
      } catch {
        // A client that left its stream ended the host's, too.
        outgoing.destroy();
      }
    });
    forwarded.once("error", () => outgoing.destroy());
    outgoing.once("close", () => forwarded.destroy());
    forwarded.end(body);
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    async stop() {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, "close");
    },
  };
}

/** The request under the names that the host offers, in its body and in the header that repeats them. */
function translate({ "content-length": _length, ...headers }, body) {
  const message = bodyOf(body);
  const name = message?.params?.name;
  if (typeof name !== "string" || !["tools/call", "prompts/get"].includes(message.method)) return { headers, body };
  const translated = { ...message, params: { ...message.params, name: offered + name } };
  const header = headers["mcp-name"];
  return {
    headers: { ...headers, ...(header !== undefined && { "mcp-name": offered + header.trim() }) },
    body: JSON.stringify(translated),
  };
}

function bodyOf(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
