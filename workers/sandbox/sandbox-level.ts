import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '../../shared/core/error-registry.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { OWN_FOLDERS } from '../core/own-programs.js';
import { removeTree } from '../core/remove-folders.js';
import type { CgroupRoots } from './cgroup.js';
import { runtimeProblem } from './runtime-version.js';
import type { Sandbox, SandboxLevel } from './sandbox.js';
import { type ContainerHost, HIDE_CANDIDATES, type Host, hiddenFolders, isBelow } from './sandbox-plan.js';
import { isRoot, ownDirectory } from './service-users.js';

const PROBE_TIMEOUT_MS = 20_000;
const PROBE_USER = 0;
const INSTALL = 'apt-get install runc conmon (or dnf install runc conmon)';

type Candidate = Pick<Host, 'level' | 'overlay' | 'oci' | 'cgroups'>;

interface Wanted {
  dataDir: string;
  log: Logger;
  oci: readonly ContainerHost[];
  cgroups: CgroupRoots | null;
  onlyContainers: boolean;
  forced: SandboxLevel | undefined;
}

function candidates({ oci, cgroups, onlyContainers, forced }: Wanted): Candidate[] {
  const groups = cgroups === null ? [null] : [cgroups, null];
  const contained = oci.flatMap((runtime) =>
    groups.flatMap((used) =>
      [true, false]
        .filter((overlay) => !overlay || runtime.overlayOptions.length > 0 || isRoot())
        .map((overlay): Candidate => ({ level: isRoot() ? 'root' : 'rootless', overlay, oci: runtime, cgroups: used })),
    ),
  );
  const plain: Candidate = { level: 'none', overlay: false, oci: null, cgroups: null };
  return [...contained, ...(onlyContainers ? [] : [plain])].filter(({ level }) => (forced ?? level) === level);
}

/** Throws if a path that must be hidden cannot be hidden. */
async function describeHost(candidate: Candidate, dataDir: string): Promise<Host> {
  const existing: string[] = [];
  for (const path of HIDE_CANDIDATES) {
    const real = await realpath(path).catch(() => null);
    if (real !== null) existing.push(real);
  }
  const home = candidate.level === 'rootless' ? await ownHome() : [];
  const hidden = hiddenFolders(existing, [await realpath(dataDir), await platformFolder(), ...home]);
  return { ...candidate, ownFolders: OWN_FOLDERS, hidden };
}

/**
 * The home folder of the platform's own user may contain keys, so it is hidden. Throws if it also contains the Node.js
 * that commands need.
 */
async function ownHome(): Promise<string[]> {
  const home = await realpath(homedir()).catch(() => null);
  if (home === null) return [];
  if (isBelow(home, dirname(dirname(process.execPath)))) {
    throw new Error(`the home folder ${home} cannot be hidden: Node.js is in ${dirname(process.execPath)}`);
  }
  return [home];
}

/** The platform's own checkout may contain a `.env` file, so it is hidden. */
async function platformFolder(): Promise<string> {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (folder !== dirname(folder)) {
    if (await exists(join(folder, 'package.json'))) return realpath(folder);
    folder = dirname(folder);
  }
  return folder;
}

/**
 * Tests the candidates with a real command, and returns the one with the strongest isolation. Throws if none of the
 * candidates that ISOLATION and OCI_RUNTIME allow works.
 */
export async function strongest<S extends Sandbox>(wanted: Wanted, make: (host: Host) => Promise<S>): Promise<S> {
  const { dataDir, log, oci } = wanted;
  const reasons: string[] = [];
  for (const candidate of candidates(wanted)) {
    const { level, overlay, cgroups } = candidate;
    const host = await describeHost(candidate, dataDir).catch((error: unknown) => errorMessage(error));
    const sandbox = typeof host === 'string' ? null : await make(host);
    const problem = sandbox === null ? host : await probe(sandbox, dataDir, overlay);
    if (problem === null && sandbox !== null) {
      const detail = { level, overlay, limits: cgroups !== null, runtime: candidate.oci?.runtime ?? null, reasons };
      if (level === 'none') log.warn(detail, withoutIsolation(oci.length > 0));
      else if (level === 'rootless') {
        log.warn(detail, "hosted code runs in OCI containers, as this user: it sees nothing of the user's home");
      } else log.info(detail, 'hosted code runs in OCI containers');
      const known = candidate.oci === null ? null : await runtimeProblem(candidate.oci.runtime);
      if (known !== null) log.warn(known);
      return sandbox;
    }
    reasons.push(`${level}${overlay ? ' with overlay' : ''}${cgroups ? '' : ' without control groups'}: ${problem}`);
  }
  const tried = reasons.length === 0 ? 'no OCI runtime with conmon was found' : reasons.join('; ');
  if (wanted.onlyContainers) {
    throw new Error(
      `Hosted code cannot run in OCI containers here, as ISOLATION or OCI_RUNTIME demands (${tried}): ${INSTALL}`,
    );
  }
  throw new Error(`No command can be run on this host (${tried})`);
}

function withoutIsolation(isInstalled: boolean): string {
  const users = isRoot() ? ', as a user of each service' : '';
  const remedy = isInstalled ? 'runc and conmon are installed, but no container works (see reasons)' : INSTALL;
  return `hosted code runs as plain processes without isolation${users}: ${remedy}`;
}

/** Returns null if all guarantees hold, otherwise how the command that checks them ended. */
async function probe(sandbox: Sandbox, dataDir: string, overlay: boolean): Promise<string | null> {
  const folder = await mkdtemp(join(dataDir, 'probe-'));
  try {
    const directory = join(folder, 'directory');
    const image = join(folder, 'image');
    await mkdir(directory);
    await mkdir(image);
    await writeFile(join(image, 'file'), 'content');
    await ownDirectory(directory, PROBE_USER);
    const checks = ['touch "$HOME/x" "$TMPDIR/x" written'];
    if (sandbox.level !== 'none') checks.push('[ "$(id -u)" -ne 0 ]', '[ ! -e "$SECRET" ]', '! unshare --user true');
    if (overlay) checks.push('[ "$(cat file)" = content ]', 'echo changed >file');
    const lines: string[] = [];
    const outcome = await sandbox.run(
      {
        id: `probe-${process.pid}-${Date.now()}`,
        command: checks.join(' && '),
        directory,
        cwd: '',
        env: { SECRET: image },
        userNumber: PROBE_USER,
        limits: { memoryMb: 128, cpu: 1, pids: 64 },
        ...(overlay ? { image } : {}),
      },
      {
        signal: new AbortController().signal,
        timeoutMs: PROBE_TIMEOUT_MS,
        graceMs: 0,
        onLine: (line) => void lines.push(line),
      },
    );
    if (outcome.reason === 'exited' && outcome.exitCode === 0) return null;
    return `${JSON.stringify(outcome)} ${lines.slice(-3).join(' | ')}`;
  } catch (error) {
    return errorMessage(error);
  } finally {
    await removeTree(folder);
  }
}
