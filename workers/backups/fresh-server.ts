import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LastLines } from '../core/last-lines.js';
import { quote } from '../core/quote.js';
import { withinTime } from '../core/within-time.js';
import { DATA } from '../data/data-host.js';
import { BackupError } from '../failures/explained-errors.js';
import type { Sandbox, SandboxLimits } from '../sandbox/sandbox.js';
import { ownDirectory } from '../sandbox/service-users.js';
import { TenantFolder } from '../volumes/tenant-folder.js';

const SOCKETS = 'sockets';
const STOP = 'stop';
const POLL_MS = 50;
/** Time in which an aborted server must exit, in milliseconds. Its data is deleted, so it need not exit cleanly. */
const GRACE_MS = 1_000;

export interface FreshServer {
  id: string;
  sandbox: Sandbox;
  /** The folder of the check, owned by the platform's user. The service's user gets its subfolder `data`. */
  folder: string;
  userNumber: number;
  limits: SandboxLimits;
  tools: readonly string[];
  /** Returns the server's command for /bin/sh, which runs in the folder of the check and must listen in `sockets`. */
  command: (paths: { data: string; sockets: string }) => string;
  /** Timeout of the whole check, in milliseconds. The data is the tenant's, and may take any time to open. */
  limitMs: number;
  signal: AbortSignal;
}

/**
 * Starts a server without network on unpacked data, and runs `work` with the folder of its socket. Stops the server
 * afterwards, so that it writes everything to the disk. Throws a `BackupError`.
 */
export function withFreshServer<T>(
  server: FreshServer,
  ready: (sockets: TenantFolder, signal: AbortSignal) => Promise<boolean>,
  work: (sockets: TenantFolder, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { limitMs: ms, signal } = server;
  const tooLate = new BackupError(
    `a fresh server did not check it within ${Math.ceil(ms / 60_000)} minutes; try again, or ask the operator for the reason`,
  );
  return withinTime({ ms, tooLate, signal }, (either) => runFresh({ ...server, signal: either }, ready, work));
}

async function runFresh<T>(
  server: FreshServer,
  ready: (sockets: TenantFolder, signal: AbortSignal) => Promise<boolean>,
  work: (sockets: TenantFolder, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { folder, sandbox, userNumber, signal } = server;
  // The tenant's user may enter the folder but not create files in it, so every name in it was created by the platform.
  await chmod(folder, 0o711);
  await mkdir(join(folder, SOCKETS), { mode: 0o700 });
  for (const name of [DATA, SOCKETS]) await ownDirectory(join(folder, name), userNumber, signal);
  const sockets = await TenantFolder.open(join(folder, SOCKETS));
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
  const output = new LastLines(5);
  const said = () => output.lines.join(' · ');
  const over = new AbortController();
  let ended = false;
  const run = sandbox
    .run(
      { ...spec, command: supervised(command, `${inside}/${STOP}`) },
      {
        signal: AbortSignal.any([signal, over.signal]),
        timeoutMs: server.limitMs,
        graceMs: GRACE_MS,
        onLine: (line) => output.push(line),
      },
    )
    .finally(() => {
      ended = true;
    });
  // The promise may reject before anything awaits it, and Node.js would then end the process.
  run.catch(() => undefined);
  try {
    while (!(await ready(sockets, signal))) {
      signal.throwIfAborted();
      if (ended) {
        await run;
        throw new BackupError(`a fresh server does not open it: ${said() || 'it said nothing'}`);
      }
      await delay(POLL_MS);
    }
    const result = await work(sockets, signal);
    await writeFile(join(folder, STOP), '', { flag: 'wx' });
    const outcome = await run;
    signal.throwIfAborted();
    if (outcome.reason !== 'exited' || outcome.exitCode !== 0) {
      throw new BackupError(`the fresh server did not end well (${JSON.stringify(outcome)}): ${said()}`);
    }
    return result;
  } finally {
    over.abort();
    await run.catch(() => undefined);
    await sockets.close();
  }
}

/** Returns a script that runs a server until a file appears, then sends SIGINT so that it writes its data and exits. */
function supervised(command: string, stopFile: string): string {
  return [
    `${command} & server=$!`,
    `while [ ! -e ${quote(stopFile)} ]; do kill -0 $server 2>/dev/null || break; sleep 0.05; done`,
    'kill -INT $server 2>/dev/null',
    'wait $server',
  ].join('\n');
}
