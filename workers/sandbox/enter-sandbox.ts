import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, unlessAbsent } from '../../shared/core/exists.js';
import { capabilitiesOf } from './capabilities.js';
import { type InnerCgroup, makeInnerCgroup } from './cgroup.js';
import { userOfImage } from './container-config.js';
import { tieGuard } from './entry-guard.js';
import { stateOf } from './launch-container.js';
import type { DetachedProcess, Entry, EntryCommand } from './sandbox.js';
import { type Host, INIT_PATH, USUAL_PATH, withoutPrivileges } from './sandbox-plan.js';
import { isRoot } from './service-users.js';
import { pidFileOf } from './stop-signal.js';

/** Marks the processes of an entry, for hosts without control groups. */
const ENTRY_MARK = 'RANVIER_ENTRY';

interface Entered {
  id: string;
  process: DetachedProcess;
  scratch: string;
  /** Arguments before the runtime that make it join the network of the container. */
  network: readonly string[];
}

/** What is known of the command of a sandbox from its first process. */
interface CommandFacts {
  cwd: string;
  env: Record<string, string>;
}

/** Prepares a program beside the command of a sandbox. Rejects if that has ended. */
export async function enterSandbox(host: Host, sandbox: Entered, command: EntryCommand): Promise<Entry> {
  return host.oci === null
    ? enterPlain(host, sandbox, command)
    : enterContainer(host, host.oci.runtime, sandbox, command);
}

async function enterContainer(
  host: Host,
  runtime: string,
  { id, scratch, network }: Entered,
  command: EntryCommand,
): Promise<Entry> {
  const { name, args, terminal, image } = command;
  const pid = Number(await readFile(pidFileOf(scratch), 'utf8'));
  const { cwd, env } = await commandFacts(pid);
  const { uid, gid } = await usersOfProcess(pid);
  // Without root, the container's user 0 is the user of the service. It has no capabilities and can get none.
  const own = host.level === 'rootless' ? { uid: 0, gid: 0 } : { uid, gid };
  const file = join(scratch, `entry-${name}`);
  const described = {
    terminal,
    user: image === undefined ? own : userOfImage(image.user),
    cwd: image?.cwd ?? cwd,
    args,
    env: Object.entries({ ...env, ...command.env, [ENTRY_MARK]: name }).map(([key, value]) => `${key}=${value}`),
    capabilities: image === undefined ? capabilitiesOf('command') : capabilitiesOf('image'),
    noNewPrivileges: true,
  };
  const group = host.cgroups === null ? null : await makeInnerCgroup(host.cgroups, id, `entry-${name}`);
  await writeFile(file, JSON.stringify(described), { mode: 0o600 });
  const guard = tieGuard(markOf(name), group?.folder ?? null);
  const pidFile = `${file}.pid`;
  const files = ['--process', file, '--pid-file', pidFile];
  const exec = ['--root', stateOf(scratch), 'exec', ...files, ...cgroupOption(group), id];
  return {
    argv: [...network, runtime, ...exec],
    env: { PATH: USUAL_PATH.join(':') },
    async isRunning() {
      const own = await unlessAbsent(readFile(pidFile, 'utf8'));
      return !own || exists(`/proc/${own}`);
    },
    async end() {
      await guard.end();
      await Promise.all([file, pidFile].map((path) => rm(path, { force: true })));
    },
  };
}

function cgroupOption(group: InnerCgroup | null): string[] {
  return group === null ? [] : ['--cgroup', group.option];
}

/** A plain process, which has no containment: at level `none`. */
async function enterPlain(host: Host, { process, network }: Entered, command: EntryCommand): Promise<Entry> {
  const { cwd, env } = await commandFacts(process.pid);
  const { uid } = await usersOfProcess(process.pid);
  const user = isRoot() ? withoutPrivileges(host, uid) : [];
  const guard = tieGuard(markOf(command.name), null);
  return {
    argv: [...network, ...user, '/bin/sh', '-c', 'cd -- "$0" && exec "$@"', cwd, ...command.args],
    env: { ...env, ...command.env, [ENTRY_MARK]: command.name },
    // The process that is started is the program.
    isRunning: () => Promise.resolve(true),
    end: () => guard.end(),
  };
}

function markOf(name: string): string {
  return `${ENTRY_MARK}=${name}`;
}

/** The user that runs a process. It cannot become another one, because it has no privileges. */
async function usersOfProcess(pid: number): Promise<{ uid: number; gid: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  const first = (name: string) => Number(new RegExp(`^${name}:\\s(\\d+)`, 'm').exec(status)?.[1]);
  return { uid: first('Uid'), gid: first('Gid') };
}

async function commandFacts(pid: number): Promise<CommandFacts> {
  const [environ, arguments_] = await Promise.all(
    ['environ', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
  );
  return factsOf(environ ?? '', arguments_ ?? '');
}

const DEFERRED = 'RANVIER_ENV_';

/**
 * Reads the folder and the variables of a command from those of the init around it (`programs.ts`). Both are texts of /proc, whose
 * parts end with NUL. An image has no such init; then the folder is the root.
 */
export function factsOf(environ: string, commandLine: string): CommandFacts {
  const words = commandLine.split('\0');
  const init = words.findIndex((word) => word === INIT_PATH || word.endsWith('/containers/init'));
  const env: Record<string, string> = {};
  for (const text of environ.split('\0')) {
    const at = text.indexOf('=');
    if (at <= 0) continue;
    const name = text.slice(0, at);
    if (name === 'RANVIER_NAMES') continue;
    env[name.startsWith(DEFERRED) ? name.slice(DEFERRED.length) : name] = text.slice(at + 1);
  }
  return { cwd: (init < 0 ? undefined : words[init + 2]) || '/', env };
}
