import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../support/processes.js';

const run = promisify(execFile);

/** Pause before an application is polled again, by hand and on the platform. */
export const PAUSE_MS = 10;

/** Clones a repository and copies its files to a web server's folder, as a user would by hand. */
export async function siteByHand(url: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-bench-'));
  try {
    await run('git', ['clone', '-q', '--depth', '1', url, join(directory, 'clone')]);
    await cp(join(directory, 'clone'), join(directory, 'www'), { recursive: true });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Installs and starts an npm application by hand. `cache` is npm's cache folder, if not the user's. */
export function applicationByHand(url: string, cache?: string): Promise<number> {
  return startedByHand(url, ['npm ci'], 'npm start', cache === undefined ? {} : { npm_config_cache: cache });
}

/** Clones, builds and starts an application with shell commands. Returns the milliseconds until it answers. */
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
    // The files of Go's module cache are read-only.
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
