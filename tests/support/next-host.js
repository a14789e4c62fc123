// The host of `durable-host.js` as its next version.
await import("./next-version.js");
await import("./durable-host.js");
