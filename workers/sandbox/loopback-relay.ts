import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { SYSTEM_PATH } from '../core/command-wrappers.js';

/**
 * Forwards connections to the IPv6 loopback of a network namespace, which NAT cannot reach. Arguments: the address and
 * the port at which it accepts connections.
 */
const RELAY = `
const [address, port] = process.argv.slice(1);
const { connect, createServer } = require('node:net');
createServer({ allowHalfOpen: true, noDelay: true }, (inner) => {
  const outer = connect({ host: '::1', port: Number(port), allowHalfOpen: true, noDelay: true });
  for (const [from, to] of [[inner, outer], [outer, inner]]) {
    from.on('error', () => { from.destroy(); to.destroy(); });
    from.on('close', (failed) => { if (failed) to.destroy(); });
    from.pipe(to);
  }
}).on('error', (error) => { throw error; }).listen(Number(port), address);
`;

export interface RelayOptions {
  /** Arguments to put before a command so that it joins the sandbox's network. */
  join: readonly string[];
  drop: readonly string[];
  address: string;
  port: number;
  /** Marks a process as the sandbox's, so that it is killed with the sandbox. */
  mark: Record<string, string>;
  procsFiles: readonly string[];
}

/** Joins cgroups, then executes the command. Arguments: cgroup.procs files, `--`, the command. */
const JOIN = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done; shift; exec "$@"';

/** Starts a process that forwards connections to the IPv6 loopback of a sandbox. The process outlives the worker. */
export async function startRelay(options: RelayOptions): Promise<void> {
  const { join, drop, address, port, mark, procsFiles } = options;
  const node = [process.execPath, '-e', RELAY, address, String(port)];
  const [file = '', ...args] = [...join, '/bin/sh', '-c', JOIN, 'relay', ...procsFiles, '--', ...drop, ...node];
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: SYSTEM_PATH, ...mark },
    stdio: 'ignore',
    detached: true,
  });
  await once(child, 'spawn');
  child.unref();
}
