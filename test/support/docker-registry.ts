import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DockerNode } from './docker.js';
import { eventually } from './processes.js';

const run = promisify(execFile);

/** The user and the password of a registry with `users`. */
export const REGISTRY_USER = 'user:right-password';
/** Line of an htpasswd file that admits REGISTRY_USER. */
const HTPASSWD = 'user:$2b$05$T/VAJjriH4zqy.BjxPplH.UWFk6xPfHsDtO0vkbLpKSZiRAHgT236\n';

export interface TestRegistry {
  address: string;
  repositories(): Promise<string[]>;
  stop(): Promise<void>;
}

/** The reason why no registry can be started on this machine; '' if one can. */
export const NO_REGISTRY =
  spawnSync('/bin/sh', ['-c', 'command -v docker-registry && command -v setpriv']).status === 0
    ? ''
    : 'docker-registry is not installed';

/** Starts a registry on loopback, where engines need no TLS. Those with the same `data` serve the same images. */
export async function startRegistry(
  node: DockerNode | null,
  folder: string,
  port: number,
  { users = false, data = '' }: { users?: boolean; data?: string } = {},
): Promise<TestRegistry> {
  const own = await mkdtemp(join(folder, 'registry-'));
  const storage = data || join(own, 'data');
  await mkdir(storage, { recursive: true });
  const auth = users ? `auth: {htpasswd: {realm: test, path: ${own}/htpasswd}}\n` : '';
  if (users) await writeFile(join(own, 'htpasswd'), HTPASSWD);
  await writeFile(
    join(own, 'config.yml'),
    `version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ${storage}}}\n${auth}http: {addr: 127.0.0.1:${port}, relativeurls: true}\n`,
  );
  const inside = ['-t', String(node?.pid ?? process.pid), '-n'];
  // setpriv kills the registry when this process ends, even by SIGKILL.
  const serve = [...inside, 'setpriv', '--pdeathsig', 'KILL', 'docker-registry', 'serve', join(own, 'config.yml')];
  const registry = spawn('nsenter', serve, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  registry.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const fetched = async (path: string): Promise<{ status: number; body: string }> => {
    const program = `fetch('http://127.0.0.1:${port}${path}').then(async (response) =>
      console.log(JSON.stringify({ status: response.status, body: await response.text() })))`;
    return JSON.parse((await run('nsenter', [...inside, process.execPath, '-e', program])).stdout);
  };
  await eventually('the registry answers', async () => {
    if (registry.exitCode !== null) throw new Error(`docker-registry ended: ${said}`);
    const answer = await fetched('/v2/').catch(() => null);
    return answer?.status === (users ? 401 : 200);
  });
  return {
    address: `127.0.0.1:${port}`,
    repositories: async () => JSON.parse((await fetched('/v2/_catalog')).body).repositories,
    stop: () => stopped(registry),
  };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await end;
}
