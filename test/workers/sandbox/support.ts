import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, realpath, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exists } from '../../../shared/core/exists.js';
import { createLogger } from '../../../shared/core/log.js';
import { removeTree } from '../../../workers/core/remove-folders.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import { markedProcesses } from '../../../workers/sandbox/process-table.js';
import type { RunOptions, RunOutcome, Sandbox, SandboxLevel, SandboxSpec } from '../../../workers/sandbox/sandbox.js';
import { isRoot, ownDirectory } from '../../../workers/sandbox/service-users.js';

export const USER = 4_242;

/** The isolation levels that this host supports. */
export const LEVELS: SandboxLevel[] = runsContainers() ? [isRoot() ? 'root' : 'rootless', 'none'] : ['none'];

function runsContainers(): boolean {
  const mapped = isRoot() ? [] : ['--user', '--map-root-user'];
  return [
    ['unshare', ...mapped, '--mount', 'true'],
    ['runc', '--version'],
    ['conmon', '--version'],
  ].every(
    ([file = '', ...args]) => spawnSync(file, args, { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } }).status === 0,
  );
}

/** A sandbox at one isolation level, with its own DATA_DIR. */
export class SandboxFixture {
  readonly dataDir: string;
  readonly sandbox: Sandbox;

  constructor(dataDir: string, sandbox: Sandbox) {
    this.dataDir = dataDir;
    this.sandbox = sandbox;
  }

  static async create(level?: SandboxLevel, parent = tmpdir()): Promise<SandboxFixture> {
    const dataDir = await realpath(await mkdtemp(join(parent, 'ranvier-sandbox-')));
    await chmod(dataDir, 0o711);
    const options = { log: createLogger('test', 'silent'), dataDir };
    return new SandboxFixture(dataDir, await createSandbox(level === undefined ? options : { ...options, level }));
  }

  async spec(command: string, changes: Partial<SandboxSpec> = {}): Promise<SandboxSpec> {
    const id = `test-${randomBytes(6).toString('hex')}`;
    const userNumber = changes.userNumber ?? USER;
    const directory = join(this.dataDir, 'work', id);
    await mkdir(directory, { recursive: true });
    await ownDirectory(directory, userNumber);
    const limits = { memoryMb: 256, cpu: 1, pids: 64 };
    return { id, command, directory, cwd: '', env: {}, userNumber, limits, ...changes };
  }

  async run(
    command: string,
    changes: Partial<SandboxSpec> = {},
    options: Partial<RunOptions> = {},
  ): Promise<{ outcome: RunOutcome; stdout: string[]; stderr: string[]; spec: SandboxSpec }> {
    const said = { stdout: [] as string[], stderr: [] as string[] };
    const spec = await this.spec(command, changes);
    const outcome = await this.sandbox.run(spec, {
      signal: new AbortController().signal,
      timeoutMs: 30_000,
      graceMs: 2_000,
      onLine: (line, stream) => void said[stream].push(line),
      ...options,
    });
    return { outcome, ...said, spec };
  }

  async left(id = ''): Promise<number[]> {
    return [...(await markedProcesses(`${tokenOf(this.dataDir)}:${id}`)).keys()];
  }

  async cgroupsOf(id: string): Promise<string[]> {
    const found: string[] = [];
    for (const root of await cgroupRoots(this.dataDir)) {
      if (await exists(join(root, id))) found.push(join(root, id));
    }
    return found;
  }

  async destroy(): Promise<void> {
    await this.sandbox.sweep(async () => () => false);
    await removeCgroupFolders(this.dataDir);
    // Only root can read the working folder of an overlay.
    await removeTree(this.dataDir);
  }
}

/** Returns the text that marks a platform's processes, networks and rules on its host. */
export function tokenOf(dataDir: string): string {
  return createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
}

/** Removes the folders of control groups, which the platform keeps. */
export async function removeCgroupFolders(dataDir: string): Promise<void> {
  for (const folder of await cgroupRoots(dataDir)) await rmdir(folder).catch(() => undefined);
}

/** Returns the folders that can contain the control groups of a platform's sandboxes. */
async function cgroupRoots(dataDir: string): Promise<string[]> {
  const name = `ranvier-${tokenOf(await realpath(dataDir))}`;
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  const own = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  const paths = own.split('\n').map((line) => line.split(':')[2] ?? '/');
  return mounts.split('\n').flatMap((line) => {
    const [, mount, type] = line.split(' ');
    if (mount === undefined || !type?.startsWith('cgroup')) return [];
    return [...new Set(paths)].map((path) => join(mount, path, name));
  });
}
