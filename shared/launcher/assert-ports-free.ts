import { createServer } from 'node:net';

/** Throws if a port is in use, not permitted or given twice. The error names the variable to change. */
export async function assertPortsFree(ports: { variable: string; port: number }[]): Promise<void> {
  const seen = new Map<number, string>();
  for (const { variable, port } of ports) {
    const other = seen.get(port);
    if (other !== undefined)
      throw new Error(`${other} and ${variable} are both ${port}: set one of them to another port`);
    seen.set(port, variable);
    const code = await listenError(port);
    if (code === 'EADDRINUSE') {
      throw new Error(`Port ${port} is in use by another program: set ${variable} to a free port, or end that program`);
    }
    if (code !== null) throw new Error(`Port ${port} cannot be listened on (${code}): set ${variable} to another port`);
  }
}

/** Tries to listen on all addresses of this host. Returns the error code; null if the port is free. */
export function listenError(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen(port, () => probe.close(() => resolve(null)));
  });
}
