/**
 * The host's side of a connection. Node sets after how long an idle connection is probed, and neither the interval and the number of
 * probes nor the user timeout of TCP: the system's own take hours. What covers that: a query that is not answered within
 * `patience`, and a beat that is not, close the connection.
 */
export const clientKeepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const;

/** The server's side: it lets go of a client that vanished after about ten seconds, and with it of locks and transactions. */
export const serverKeepAlive = `set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3;
  set tcp_user_timeout = 10000`;
