import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DATA } from '../data/data-host.js';
import type { Sandbox, SandboxLimits } from '../sandbox/sandbox.js';
import { quote } from '../sandbox/sandbox-scripts.js';
import { ownDirectory } from '../sandbox/service-users.js';
import { BackupError } from './backup-error.js';

const SOCKETS = 'sockets';
const STOP = 'stop';
const LAST_LINES = 5;
/** A server that recovers a lot of log needs time before it accepts connections, in milliseconds. */
const LONGEST_START_MS = 60 * 60_000;
/** The longest that a check may take, in milliseconds. */
const LONGEST_MS = 12 * 60 * 60_000;
const POLL_MS = 50;
const GRACE_MS = 60_000;

export interface FreshServer {
  id: string;
  sandbox: Sandbox;
  /** The folder of the check, which holds `data`. It belongs to the service's user while the server runs. */
  folder: string;
  userNumber: number;
  limits: SandboxLimits;
  /** Folders of tools whose programs the command may use. */
  tools: readonly string[];
  /** The command of the server, for /bin/sh; it runs in the folder of the check. It listens in the folder `sockets`. */
  command: (paths: { data: string; sockets: string }) => string;
  signal: AbortSignal;
}

/**
 * Starts a server on unpacked data, in a sandbox of its own, without a network: only the socket in the folder leads to it. Runs
 * `work` with the path of the sockets, then ends the server and returns when it has written everything. `ready` is asked until
 * it returns true. Throws a `BackupError` if the server ends before that.
 */
export async function withFreshServer<T>(
  server: FreshServer,
  ready: (sockets: string) => Promise<boolean>,
  work: (sockets: string) => Promise<T>,
): Promise<T> {
  const { folder, sandbox, userNumber, signal } = server;
  const sockets = join(folder, SOCKETS);
  await mkdir(sockets, { mode: 0o700 });
  await ownDirectory(folder, userNumber, signal);
  const spec = {
    id: server.id,
    directory: folder,
    cwd: '',
    env: {},
    userNumber,
    limits: server.limits,
    tools: server.tools,
  };
  const inside = sandbox.pathOf(spec);
  const command = server.command({ data: `${inside}/${DATA}`, sockets: `${inside}/${SOCKETS}` });
  const lines: string[] = [];
  const over = new AbortController();
  let ended = false;
  const run = sandbox
    .run(
      { ...spec, command: supervised(command, `${inside}/${STOP}`) },
      {
        signal: AbortSignal.any([signal, over.signal]),
        timeoutMs: LONGEST_MS,
        graceMs: GRACE_MS,
        onLine: (line) => {
          lines.push(line);
          if (lines.length > LAST_LINES) lines.shift();
        },
      },
    )
    .finally(() => {
      ended = true;
    });
  // It may reject before it is awaited.
  run.catch(() => undefined);
  const handle = await open(sockets);
  try {
    // Paths of sockets are short: the path through the open folder always is.
    const path = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : sockets;
    const deadline = Date.now() + LONGEST_START_MS;
    while (!(await ready(path))) {
      signal.throwIfAborted();
      if (ended || Date.now() > deadline) {
        await run;
        throw new BackupError(`a fresh server does not open it: ${lines.join(' · ') || 'it said nothing'}`);
      }
      await delay(POLL_MS);
    }
    const result = await work(path);
    await writeFile(join(folder, STOP), '');
    const outcome = await run;
    signal.throwIfAborted();
    if (outcome.reason !== 'exited' || outcome.exitCode !== 0) {
      throw new BackupError(`the fresh server did not end well (${JSON.stringify(outcome)}): ${lines.join(' · ')}`);
    }
    return result;
  } finally {
    over.abort();
    await run.catch(() => undefined);
    await handle.close();
  }
}

/** Runs a server until a file appears, then ends it with INT, after which it writes all its data. */
function supervised(command: string, stopFile: string): string {
  return [
    `${command} & server=$!`,
    `while [ ! -e ${quote(stopFile)} ]; do kill -0 $server 2>/dev/null || break; sleep 0.05; done`,
    'kill -INT $server 2>/dev/null',
    'wait $server',
  ].join('\n');
}
