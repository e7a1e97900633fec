import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { type Launched, launched } from './sandbox-child.js';
import { assertVariable, type HostedCommand, type Plan, resourceLimits } from './sandbox-plan.js';
import { isRoot } from './service-users.js';

export interface PlainProcess {
  init: string;
  plan: Plan;
  command: HostedCommand;
}

/**
 * The options of the shell's `ulimit` that set a limit, and the unit of their values: a number of bytes, or 1 for a
 * count. Some shells have the option -p for NPROC, others -u.
 */
const ULIMITS: Readonly<Record<string, readonly [options: string[], unit: number]>> = {
  CORE: [['-c'], 512],
  NOFILE: [['-n'], 1],
  FSIZE: [['-f'], 512],
  DATA: [['-d'], 1024],
  NPROC: [['-p', '-u'], 1],
};

/** Starts a process that is killed when this process dies. Descriptor 3 receives a line when the command starts. */
export function spawnPlain(plain: PlainProcess): ChildProcess {
  return start(plain, 'tied', ['ignore', 'pipe', 'pipe', 'pipe']);
}

/** Starts a process that outlives this process. Its result is written to `exitFile`. */
export async function startPlain(
  plain: PlainProcess,
  { output, exitFile }: { output: FileHandle; exitFile: string },
): Promise<Launched> {
  const exit = await open(exitFile, 'w', 0o600);
  try {
    // The command's user must own its log: if no worker reads the log, the init truncates it as that user.
    if (isRoot()) await output.chown(plain.plan.uid, plain.plan.uid);
    return await launched(start(plain, 'alone', ['ignore', output.fd, output.fd, 'ignore', exit.fd]));
  } finally {
    await exit.close();
  }
}

function start({ init, plan, command }: PlainProcess, kind: 'tied' | 'alone', stdio: StdioOptions): ChildProcess {
  for (const [name, value] of Object.entries(command.env)) assertVariable(name, value);
  const limits = resourceLimits(plan, false, isRoot() ? 'service' : 'all').map(({ name, value }) => {
    const [options, unit] = ULIMITS[name] ?? [[], 1];
    return options.map((option) => `ulimit ${option} ${Math.floor(value / unit)} 2>/dev/null`).join(' || ');
  });
  const shell = ['/bin/sh', '-c', [...limits, 'exec /bin/sh -c "$1"'].join('; '), 'command', command.command];
  return spawn('/bin/sh', [init, kind, command.cwd, 'here', ...shell], {
    cwd: '/',
    env: command.env,
    stdio,
    detached: true,
    ...(isRoot() ? { uid: plan.uid, gid: plan.uid } : {}),
  });
}
