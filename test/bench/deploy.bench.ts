import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeRepository, npmApp } from '../support/apps.js';
import { createService, deploy } from '../support/deployments.js';
import { type EngineName, startPlatform } from '../support/platform.js';
import { eventually, freePorts } from '../support/processes.js';
import { measure, median, print } from './measure.js';

const run = promisify(execFile);
const ROUNDS = 5;

/**
 * Deploy overhead: POST to live, against the same clone, install, start and health check done by hand in a shell, in
 * turns within one run. Both use the same npm cache policy: warm after the first round.
 */
export async function benchDeploy(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine });
  const repository = await makeRepository(npmApp('bench'));
  const byHand: number[] = [];
  const deployed: number[] = [];
  try {
    const service = await createService(platform.client, {
      name: 'bench',
      configuration: { repository: repository.url },
    });
    for (let round = 0; round <= ROUNDS; round++) {
      const hand = await measure(() => shell(repository.url));
      await repository.commit(`round ${round}`, npmApp(`bench ${round}`));
      const ours = await measure(() => deploy(platform.client, service.id));
      if (round === 0) continue;
      byHand.push(hand);
      deployed.push(ours);
    }
  } finally {
    await platform.stop();
    await repository.remove();
  }
  const [hand, ours] = [Math.round(median(byHand)), Math.round(median(deployed))];
  print(`  by hand ${hand} ms, deployed ${ours} ms, overhead ${ours - hand} ms, ratio ${(ours / hand).toFixed(2)}`);
}

async function shell(url: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'ranvier-bench-'));
  const [port = 0] = await freePorts(1);
  try {
    await run('git', ['clone', '-q', '--depth', '1', url, directory]);
    await run('npm', ['ci'], { cwd: directory });
    const app = spawn('npm', ['start'], {
      cwd: directory,
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
      detached: true,
    });
    await eventually('it answers', async () => (await fetch(`http://127.0.0.1:${port}/`)).ok);
    if (app.pid) process.kill(-app.pid, 'SIGKILL');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
