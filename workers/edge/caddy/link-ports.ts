/** The ports of this host on which an edge process listens for its Caddy; 0 for any. */
export interface LinkPorts {
  responder: number;
  nameServer: number;
}

/** The ports that a server of ours in Caddy's configuration names. */
export function linkPorts(server: unknown): LinkPorts {
  const text = JSON.stringify(server);
  return {
    responder: Number(/"dial":"127\.0\.0\.1:(\d+)"/.exec(text)?.[1] ?? 0),
    nameServer: Number(/"udp\/127\.0\.0\.1:(\d+)"/.exec(text)?.[1] ?? 0),
  };
}

/** Listens on the port, or on any other where it is taken. */
export async function listenNear(port: number, listen: (port: number) => Promise<void>): Promise<void> {
  try {
    await listen(port);
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!taken || port === 0) throw error;
    await listen(0);
  }
}
