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

/**
 * Clones, installs and starts an npm application in a shell until it answers. Returns how long that took, in milliseconds,
 * without the time to end and remove it. `cache` is npm's, if it is not the user's own.
 */
export async function applicationByHand(url: string, cache?: string): Promise<number> {
  const own = cache === undefined ? process.env : { ...process.env, npm_config_cache: cache };
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-bench-'));
  const [port = 0] = await freePorts(1);
  try {
    const begun = performance.now();
    await run('git', ['clone', '-q', '--depth', '1', url, directory]);
    await run('npm', ['ci'], { cwd: directory, env: own });
    const app = spawn('npm', ['start'], {
      cwd: directory,
      env: { ...own, PORT: String(port) },
      stdio: 'ignore',
      detached: true,
    });
    const ended = once(app, 'exit');
    while (!(await answers(`http://127.0.0.1:${port}/`))) await delay(PAUSE_MS);
    const took = performance.now() - begun;
    if (app.pid) process.kill(-app.pid, 'SIGKILL');
    await ended;
    return took;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
