import { readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beginningOf } from '../../shared/core/beginning-of.js';
import { exists, unlessAbsent } from '../../shared/core/exists.js';
import { capabilitiesOf } from './capabilities.js';
import { makeInnerCgroup } from './cgroup.js';
import { deferred, userOfImage } from './container-config.js';
import { tieGuard } from './entry-guard.js';
import { OWN_MOUNTS, stateOf } from './launch-container.js';
import { MAX_PROCESS_BYTES } from './process-table.js';
import type { DetachedProcess, Entry, EntryCommand } from './sandbox.js';
import { type Host, INIT_PATH, USUAL_PATH, VARIABLES_PATH, withoutPrivileges } from './sandbox-plan.js';
import { isRoot } from './service-users.js';
import { VARIABLES } from './shell-programs.js';
import { pidFileOf } from './stop-signal.js';

/**
 * Marks the processes of an entry: a program, such as a shell, that is started in the sandbox of a running command.
 * Without cgroups, the processes are found by this variable.
 */
const ENTRY_MARK = 'RANVIER_ENTRY';

/** Passes a file as descriptor 3 and deletes it: it contains a command's variables, which must not stay on disk. */
const OPEN_AND_REMOVE = 'exec 3<"$1" && rm -f -- "$1" && shift && exec "$@"';

interface Entered {
  id: string;
  process: DetachedProcess;
  scratch: string;
  /** Arguments to put before the runtime so that it joins the container's network. */
  network: readonly string[];
}

/** Prepares to start a program in the sandbox of a running command. Rejects if the command has ended. */
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
  const [facts, rlimits, user] = await Promise.all([commandFacts(pid), limitsOf(pid), usersOfProcess(pid)]);
  const env = { ...facts.env, ...command.env };
  const isRootless = host.level === 'rootless';
  const file = join(scratch, `entry-${name}`);
  const described = {
    terminal,
    user: image !== undefined ? userOfImage(image.user) : isRootless ? { uid: 0, gid: 0 } : user,
    cwd: image?.cwd ?? facts.cwd,
    args: isRootless ? [...(await asCommand(pid)), ...args] : args,
    env: [
      ...(isRootless ? deferred(env) : Object.entries(env).map(([key, value]) => `${key}=${value}`)),
      `${ENTRY_MARK}=${name}`,
    ],
    capabilities: image === undefined ? capabilitiesOf('command') : capabilitiesOf('image'),
    noNewPrivileges: true,
    rlimits,
  };
  const group = host.cgroups === null ? null : await makeInnerCgroup(host.cgroups, id, `entry-${name}`);
  await writeFile(file, JSON.stringify(described), { mode: 0o600 });
  const guard = await tieGuard({
    mark: markOf(name),
    cgroup: group?.folder ?? null,
    network: isRootless ? network : [],
  });
  const mounts = isRootless ? [] : OWN_MOUNTS;
  const pidFile = `${file}.pid`;
  const files = ['--process', '/proc/self/fd/3', '--pid-file', pidFile];
  const inGroup = group === null ? [] : ['--cgroup', group.option];
  const exec = ['--root', stateOf(scratch), 'exec', ...files, ...inGroup, id];
  return {
    argv: [...network, ...guard.tie, ...mounts, '/bin/sh', '-c', OPEN_AND_REMOVE, 'entry', file, runtime, ...exec],
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

/**
 * Returns arguments to put before a command so that it runs as the user of a rootless application. The command joins
 * the application's user namespace, whose parent is that of process 1.
 */
async function asCommand(init: number): Promise<string[]> {
  const children = await readFile(`/proc/${init}/task/${init}/children`, 'utf8');
  const outer = await readlink(`/proc/${init}/ns/user`);
  for (const pid of children.split(' ').filter((word) => word !== '')) {
    if ((await readlink(`/proc/${pid}/ns/user`).catch(() => outer)) === outer) continue;
    const status = await readFile(`/proc/${pid}/status`, 'latin1');
    const [, inside] = /^NSpid:.*\s(\d+)$/m.exec(status) ?? [];
    const user = ['nsenter', `--user=/proc/${inside}/ns/user`, '--preserve-credentials', '--'];
    return [...user, '/bin/sh', VARIABLES_PATH];
  }
  throw new Error('the application has ended, or an older release of the platform started it: restart the service');
}

const LIMITS: Readonly<Record<string, string>> = {
  'Max core file size': 'CORE',
  'Max file size': 'FSIZE',
  'Max data size': 'DATA',
  'Max processes': 'NPROC',
  'Max open files': 'NOFILE',
};

async function limitsOf(pid: number): Promise<{ type: string; soft: number; hard: number }[]> {
  const rows = (await readFile(`/proc/${pid}/limits`, 'latin1')).split('\n');
  return rows.flatMap((row) => {
    const [, name = '', soft, hard] = /^(.*?)\s{2,}(\d+)\s+(\d+)\s/.exec(row) ?? [];
    const type = LIMITS[name];
    return type === undefined ? [] : [{ type: `RLIMIT_${type}`, soft: Number(soft), hard: Number(hard) }];
  });
}

async function enterPlain(host: Host, { process, network }: Entered, command: EntryCommand): Promise<Entry> {
  const { cwd, env } = await commandFacts(process.pid);
  const { uid } = await usersOfProcess(process.pid);
  const user = isRoot() ? withoutPrivileges(host, uid) : [];
  const guard = await tieGuard({ mark: markOf(command.name), cgroup: null, network: [] });
  const inFolder = ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', cwd];
  const given = deferred({ ...env, ...command.env }).map((text) => /^([^=]*)=(.*)$/s.exec(text)?.slice(1) ?? []);
  return {
    // The application's variables, such as PATH and LD_PRELOAD, could influence programs that run as root. `VARIABLES`
    // runs after those programs, and only then sets the variables.
    argv: [...network, ...user, '/bin/sh', '-c', VARIABLES, 'sh', ...inFolder, ...command.args],
    env: { ...Object.fromEntries(given), [ENTRY_MARK]: command.name },
    // The caller already learns of the exit from Node.js, because the program is its child process.
    isRunning: () => Promise.resolve(true),
    end: () => guard.end(),
  };
}

function markOf(name: string): string {
  return `${ENTRY_MARK}=${name}`;
}

/** An unprivileged process cannot have changed its user and group. */
async function usersOfProcess(pid: number): Promise<{ uid: number; gid: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  const first = (name: string) => Number(new RegExp(`^${name}:\\s(\\d+)`, 'm').exec(status)?.[1]);
  return { uid: first('Uid'), gid: first('Gid') };
}

async function commandFacts(pid: number) {
  const [environ, arguments_] = await Promise.all(
    ['environ', 'cmdline'].map((name) => beginningOf(`/proc/${pid}/${name}`, MAX_PROCESS_BYTES)),
  );
  return factsOf(environ ?? '', arguments_ ?? '');
}

const DEFERRED = 'RANVIER_ENV_';

/**
 * Extracts a command's working folder and environment from two /proc files of its init. A process that was started from
 * an image has no such init; its working folder is taken to be the root.
 */
export function factsOf(environ: string, commandLine: string) {
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
