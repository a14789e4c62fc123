using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "handler", worker = .handler)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "handler")],
);

const handler :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "dist/worker.js")],
  compatibilityDate = "2026-11-01",
);
