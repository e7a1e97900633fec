import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePorts } from '../support/processes.js';

const run = promisify(execFile);

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
 * without the time to end and remove it.
 */
export async function applicationByHand(url: string): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-bench-'));
  const [port = 0] = await freePorts(1);
  try {
    const begun = performance.now();
    await run('git', ['clone', '-q', '--depth', '1', url, directory]);
    await run('npm', ['ci'], { cwd: directory });
    const app = spawn('npm', ['start'], {
      cwd: directory,
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
      detached: true,
    });
    const ended = once(app, 'exit');
    await eventually('it answers', async () => (await fetch(`http://127.0.0.1:${port}/`)).ok);
    const took = performance.now() - begun;
    if (app.pid) process.kill(-app.pid, 'SIGKILL');
    await ended;
    return took;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
