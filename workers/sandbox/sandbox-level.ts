import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '../../shared/core/errors.js';
import { exists } from '../../shared/core/exists.js';
import type { Logger } from '../../shared/core/log.js';
import { runLimited } from '../../shared/core/run-limited.js';
import { removeTree } from '../core/folders.js';
import { OWN_FOLDERS } from '../core/own-programs.js';
import { INSTALL_IMAGES } from '../failures/explained.js';
import { mountProgram } from './mount-program.js';
import type { OciHost } from './oci/oci-model.js';
import { hasMounts, type Sandbox, type SandboxLevel } from './sandbox.js';
import { HIDE_CANDIDATES, type Host, hiddenFolders, INSIDE, isBelow } from './sandbox-plan.js';
import { isRoot, ownDirectory } from './service-users.js';
import { filterArguments } from './system-calls.js';

const LEVELS_OF_ROOT: readonly SandboxLevel[] = ['namespaces', 'user', 'none'];
const LEVELS_OF_USERS: readonly SandboxLevel[] = process.platform === 'linux' ? ['rootless', 'none'] : ['none'];
const WITHOUT_CONTAINERS = `hosted commands run in namespaces of their own, not in OCI containers, and no images can be run: as root, ${INSTALL_IMAGES}`;
const PROBE_TIMEOUT_MS = 20_000;
const PROBE_USER = 0;

/** Describes what this host may offer at a level. `probe` then tries it. */
async function describeHost({ level, overlay, oci }: Candidate, dataDir: string): Promise<Host> {
  const [setsid, prlimit] = await Promise.all([hasTool('setsid'), hasTool('prlimit')]);
  const existing: string[] = [];
  for (const path of HIDE_CANDIDATES) {
    const real = await realpath(path).catch(() => null);
    if (real !== null) existing.push(real);
  }
  return {
    level,
    overlay,
    tools: { setsid, prlimit },
    filter: level === 'none' || oci !== null ? [] : await usableFilter(),
    mounter: hasMounts(level) && oci === null ? await usableMounter(level) : [],
    ownFolders: OWN_FOLDERS,
    hidden: hiddenFolders(existing, [
      await realpath(dataDir),
      await platformFolder(),
      ...(level === 'rootless' ? await ownHome() : []),
    ]),
    oci,
  };
}

/**
 * The home of the platform's own user, if it exists. It holds that user's keys. Throws if it cannot be hidden because the Node.js that
 * commands need is its neighbour in it.
 */
async function ownHome(): Promise<string[]> {
  const home = await realpath(homedir()).catch(() => null);
  if (home === null) return [];
  if (isBelow(home, dirname(dirname(process.execPath)))) {
    throw new Error(`the home folder ${home} cannot be hidden: Node.js is in ${dirname(process.execPath)}`);
  }
  return [home];
}

/** The platform's own checkout. It is hidden because a `.env` file may be in it. */
async function platformFolder(): Promise<string> {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (folder !== dirname(folder)) {
    if (await exists(join(folder, 'package.json'))) return realpath(folder);
    folder = dirname(folder);
  }
  return folder;
}

/** The arguments of the filter of system calls if a trial shows that it works here; otherwise none. */
async function usableFilter(): Promise<readonly string[]> {
  const filter = filterArguments();
  if (filter === null) return [];
  try {
    await runLimited('setpriv', [
      '--no-new-privs',
      '--',
      ...filter,
      '/bin/sh',
      '-c',
      '! unshare --user true 2>/dev/null',
    ]);
    return filter;
  } catch {
    return [];
  }
}

/** The arguments of the program that makes all mounts if a trial shows that it works here; otherwise none. */
async function usableMounter(level: SandboxLevel): Promise<readonly string[]> {
  const program = mountProgram();
  if (program === null) return [];
  const asRoot = level === 'rootless' ? ['--user', '--map-root-user'] : [];
  const trial = [...program, 'hide', INSIDE, '--', '/bin/sh', '-c', '[ ! -e "$1" ]', 'trial', `${INSIDE}/app`];
  try {
    await runLimited('unshare', [...asRoot, '--mount', '--propagation', 'private', ...trial]);
    return program;
  } catch {
    return [];
  }
}

async function hasTool(name: string): Promise<boolean> {
  for (const folder of ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']) {
    if (await exists(join(folder, name))) return true;
  }
  return false;
}

interface Candidate {
  level: SandboxLevel;
  overlay: boolean;
  oci: OciHost | null;
}

interface Wanted {
  dataDir: string;
  log: Logger;
  /** The installed runtimes, the best first. */
  oci: readonly OciHost[];
  /** True if nothing but a container will do. */
  onlyContainers: boolean;
  forced: SandboxLevel | undefined;
}

/** What may work here, the strongest first. */
function candidates({ oci, onlyContainers, forced }: Wanted): Candidate[] {
  const containers = oci.flatMap((host) => [true, false].map((overlay) => ({ overlay, oci: host })));
  const levels = forced === undefined ? (isRoot() ? LEVELS_OF_ROOT : LEVELS_OF_USERS) : [forced];
  return levels.flatMap((level): Candidate[] => {
    const others = (level === 'namespaces' ? [true, false] : [false]).map((overlay) => ({ overlay, oci: null }));
    const ways = [...(level === 'namespaces' ? containers : []), ...(onlyContainers ? [] : others)];
    return ways.map((way) => ({ level, ...way }));
  });
}

/**
 * Tries the levels from the strongest on by running a real command, and returns the first sandbox that passes. A level below
 * `namespaces` is logged with the reasons: as an error if hosted commands run as root, otherwise as a warning. Throws if no
 * level works.
 */
export async function strongest<S extends Sandbox>(wanted: Wanted, make: (host: Host) => S): Promise<S> {
  const { dataDir, log } = wanted;
  const reasons: string[] = [];
  for (const candidate of candidates(wanted)) {
    const { level, overlay } = candidate;
    if (level === 'namespaces') await mkdir(INSIDE, { recursive: true }).catch(() => undefined);
    const host = await describeHost(candidate, dataDir).catch((error: unknown) => errorMessage(error));
    const sandbox = typeof host === 'string' ? null : make(host);
    const problem = sandbox === null ? host : await probe(sandbox, dataDir, overlay);
    if (problem === null && sandbox !== null && typeof host !== 'string') {
      const detail = { level, overlay, runtime: host.oci?.runtime ?? null, reasons };
      if (level !== 'none' && host.oci === null && host.filter.length === 0) {
        log.warn('hosted commands can make user namespaces: no filter of system calls works here (it needs perl)');
      }
      if (level === 'none' && isRoot()) log.error(detail, 'hosted commands run as root: nothing contains them');
      else if (level === 'rootless') {
        log.warn(detail, "hosted commands see nothing of this user's home, but run as this user");
      } else if (level !== 'namespaces') log.warn(detail, 'this host contains hosted commands only in part');
      else if (host.oci === null) log.warn(detail, WITHOUT_CONTAINERS);
      else log.info(detail, 'hosted commands run in OCI containers');
      return sandbox;
    }
    reasons.push(`${level}${candidate.oci ? ' in containers' : ''}${overlay ? ' with overlay' : ''}: ${problem}`);
  }
  const tried = reasons.length === 0 ? 'no OCI runtime was found, or the platform is not root' : reasons.join('; ');
  if (wanted.onlyContainers) {
    throw new Error(
      `Hosted code cannot run in OCI containers here, as ISOLATION or OCI_RUNTIME demands (${tried}): apt-get install runc conmon`,
    );
  }
  throw new Error(`No command can be run on this host (${tried})`);
}

/** Runs a command that checks its containment. Returns null if all is as promised, otherwise what is not. */
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
    if (sandbox.level !== 'none') checks.push('[ "$(id -u)" -ne 0 ]');
    if (hasMounts(sandbox.level)) checks.push('[ ! -e "$SECRET" ]');
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
    return error instanceof Error ? error.message : String(error);
  } finally {
    await removeTree(folder);
  }
}
