import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../support/processes.js';

const run = promisify(execFile);

/** How long is waited before an application is asked again, in milliseconds: by hand and on the platform. */
export const PAUSE_MS = 10;

/** Clones a repository and copies its files to the folder of a web server, as somebody does by hand. */
export async function siteByHand(url: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-bench-'));
  try {
    await run('git', ['clone', '-q', '--depth', '1', url, join(directory, 'clone')]);
    await cp(join(directory, 'clone'), join(directory, 'www'), { recursive: true });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** `cache` is npm's, if it is not the user's own. */
export function applicationByHand(url: string, cache?: string): Promise<number> {
  return startedByHand(url, ['npm ci'], 'npm start', cache === undefined ? {} : { npm_config_cache: cache });
}

/**
 * Clones, builds and starts an application in a shell until it answers. Returns how long that took, in milliseconds, without the time
 * to end and remove it.
 */
export async function startedByHand(
  url: string,
  build: readonly string[],
  start: string,
  variables: Record<string, string> = {},
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-bench-'));
  const [port = 0] = await freePorts(1);
  const env = { ...process.env, ...variables, PORT: String(port) };
  try {
    const begun = performance.now();
    await run('git', ['clone', '-q', '--depth', '1', url, directory]);
    for (const command of build) await run('sh', ['-c', command], { cwd: directory, env });
    const app = spawn('sh', ['-c', `exec ${start}`], { cwd: directory, env, stdio: 'ignore', detached: true });
    const ended = once(app, 'exit');
    while (!(await answers(`http://127.0.0.1:${port}/`))) await delay(PAUSE_MS);
    const took = performance.now() - begun;
    if (app.pid) process.kill(-app.pid, 'SIGKILL');
    await ended;
    return took;
  } finally {
    // Go's cache of modules is read-only.
    await run('chmod', ['-R', 'u+w', directory]);
    await rm(directory, { recursive: true, force: true });
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
