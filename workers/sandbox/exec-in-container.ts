import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { unlessAbsent } from '../../shared/core/exists.js';
import { resultOf } from '../../shared/core/run-limited.js';
import { signalProcess } from '../../shared/core/signal-process.js';
import { capabilitiesOf } from './capabilities.js';
import { userOfImage } from './container-config.js';
import { stateOf } from './launch-container.js';
import type { InsideCommand, InsideResult } from './sandbox.js';
import { pidFileOf } from './stop-signal.js';

export interface RunningContainer {
  id: string;
  /** The path of the OCI runtime. */
  runtime: string;
  /** The container's scratch folder. */
  scratch: string;
  /** Arguments before the runtime that make it join the container's network. */
  network: readonly string[];
}

/**
 * Runs a command in an image's container, with the variables of the image's process. Ends it if it takes too long.
 * The runtime gives it the container's namespaces, control group and system call filter.
 */
export async function execInContainer(
  { id, runtime, scratch, network }: RunningContainer,
  { args, cwd, user, timeoutMs }: InsideCommand,
): Promise<InsideResult> {
  const pid = Number(await readFile(pidFileOf(scratch), 'utf8'));
  const variables = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  const command = {
    terminal: false,
    user: userOfImage(user),
    cwd,
    args,
    env: variables.filter((text) => text.indexOf('=') > 0),
    capabilities: capabilitiesOf('image'),
    noNewPrivileges: true,
  };
  const file = join(scratch, `exec-${v7()}`);
  const ownPid = `${file}.pid`;
  await writeFile(file, JSON.stringify(command), { mode: 0o600 });
  try {
    const exec = ['--root', stateOf(scratch), 'exec', '--process', file, '--pid-file', ownPid, id];
    const [program = runtime, ...rest] = [...network, runtime, ...exec];
    const { code, stdout, stderr, cut } = await resultOf(program, rest, { timeout: timeoutMs });
    // In that case the runtime was killed and the command was not.
    const left = cut === null ? null : await unlessAbsent(readFile(ownPid, 'utf8'));
    if (left) signalProcess(Number(left), 'SIGKILL');
    return { code: cut === null ? code : null, output: `${stdout}\n${stderr}` };
  } finally {
    await Promise.all([file, ownPid].map((path) => rm(path, { force: true })));
  }
}
