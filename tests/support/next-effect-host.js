// The host of `effect-host.js` as its next version.
await import("./next-version.js");
await import("./effect-host.js");
