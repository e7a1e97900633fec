import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { CLOSE, parseControl, REPLICA_ENDED } from '../../shared/remote/model.js';
import { Outlet } from '../../shared/remote/outlet.js';
import type { RemoteSessionRow } from '../../shared/remote/store.js';
import { sandboxIdOf } from '../runtime/process/replica-sandbox.js';
import type { Entry } from '../sandbox/sandbox.js';
import { type DatabaseShell, databaseShell } from './database-shell.js';
import type { RemoteDeps } from './remote-deps.js';
import { type ShellProcess, startShell } from './shell-process.js';
import type { Target } from './target.js';

const POLL_INTERVAL_MS = 100;
const KILLED = 137;

/** Without a locale, a shell's line editor would take the bytes of a multi-byte character for commands. */
const TERMINAL = { TERM: 'xterm-256color', LC_CTYPE: 'C.UTF-8' };

const LOGIN_SHELL = `
shell=$(awk -F: -v id="$(id -u)" '$3 == id { print $7; exit }' /etc/passwd 2>/dev/null)
case $shell in ''|*/nologin|*/false|/bin/sh) shell=$(command -v bash) ;; esac
[ -x "$shell" ] || shell=/bin/sh
exec "$shell"`;

function argumentsOf(command: RemoteSessionRow['command'], database: DatabaseShell | null): string[] {
  if (Array.isArray(command)) return command;
  return ['/bin/sh', '-c', command ?? [database?.script ?? '', LOGIN_SHELL].join('\n')];
}

/** Runs a shell's command in a replica's container until all of its processes have exited. */
export async function serveShell(
  deps: RemoteDeps,
  session: RemoteSessionRow,
  { replica, process, image }: Target,
  peer: WebSocket,
): Promise<void> {
  const { sandbox } = deps;
  const { columns, rows, command } = session;
  const size = columns === null || rows === null ? null : { columns, rows };
  const database = command === null ? await databaseShell(deps, replica) : null;
  const entry = await sandbox.enter(sandboxIdOf(replica), process, {
    name: session.id,
    args: argumentsOf(command, database),
    env: { ...database?.env, ...(size === null ? {} : TERMINAL) },
    terminal: size !== null,
    ...(image === null ? {} : { image }),
  });
  try {
    const code = await converse(entry, size, peer);
    if (code === null) return;
    const hasEnded = code === KILLED && (await endsSoon(() => sandbox.isAlive(process)));
    peer.send(JSON.stringify({ exit: code }));
    if (hasEnded) peer.close(CLOSE.notFound, REPLICA_ENDED);
    else peer.close(1000);
  } finally {
    await entry.end();
  }
}

/**
 * Returns true if the container stops within a moment. A stopping container ends its main process last, after the
 * shell.
 */
async function endsSoon(isAlive: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 10; tries++) {
    if (!(await isAlive())) return true;
    await sleep(POLL_INTERVAL_MS);
  }
  return false;
}

/** Returns the program's exit code; null if the peer has disconnected. */
async function converse(entry: Entry, size: Parameters<typeof startShell>[1], peer: WebSocket): Promise<number | null> {
  if (peer.readyState !== peer.OPEN) return null;
  const gone = new Promise<null>((resolve) => peer.once('close', () => resolve(null)));
  const outlet = new Outlet(peer, () => shell, { merges: false });
  const shell: ShellProcess = startShell(entry, size, (chunk, stream) => {
    outlet.send(stream === 0 ? chunk : Buffer.concat([Buffer.of(stream), chunk]));
  });
  let waiting = 0;
  let done = Promise.resolve();
  peer.on('message', (data: Buffer, isBinary: boolean) => {
    // Reads no further message until the program has accepted this message.
    peer.pause();
    waiting += 1;
    done = done.then(async () => {
      if (isBinary) await shell.write(data);
      else obey(shell, data.toString('utf8'));
      waiting -= 1;
      if (waiting === 0) peer.resume();
    });
  });
  peer.resume();
  const watch = new AbortController();
  void endRest(entry, shell, watch.signal);
  const code = await Promise.race([shell.exited, gone]);
  watch.abort();
  return code;
}

/** Ends processes that outlive the program, because they may keep its output open. */
async function endRest(entry: Entry, shell: ShellProcess, signal: AbortSignal): Promise<void> {
  const ended = (async () => {
    while (!signal.aborted && (await entry.isRunning())) await sleep(POLL_INTERVAL_MS);
  })();
  await Promise.race([ended, shell.left]);
  if (!signal.aborted) await entry.end();
}

function obey(shell: ShellProcess, text: string): void {
  const control = parseControl(text);
  if (control === null) return;
  if ('resize' in control) shell.resize(control.resize);
  else if ('eof' in control) shell.endInput();
}
