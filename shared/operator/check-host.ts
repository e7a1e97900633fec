/** Facts about a host and the platform on it. */
export interface HostFacts {
  isRoot: boolean;
  isLinux: boolean;
  /** The package manager's command that installs packages; null if unknown. */
  installer: 'apt-get install' | 'dnf install' | null;
  /** Names of the programs in the PATH. */
  programs: readonly string[];
  hasControlGroups: boolean;
  dataDir: string;
  /** Null if the folder's file system cannot be queried. */
  disk: { freeBytes: number; freeInodes: number } | null;
  memoryBytes: number;
  /** Setting → its port, and whether a process listens there. */
  ports: readonly { setting: string; port: number; isTaken: boolean }[];
  /** Whether the clock is synchronized; null if the host does not report it. */
  isClockSynchronized: boolean | null;
  /** Null if no platform was set up; a `problem` if its database does not respond. */
  platform: PlatformFacts | { problem: string } | null;
}

export interface PlatformFacts {
  isReady: boolean;
  onlineWorkers: number;
  /** How far this host's clock is ahead of the database server's, in milliseconds. Negative if it is behind. */
  clockAheadMs: number;
}

/** One line of the `ranvier doctor` report. */
export interface Finding {
  name: string;
  /** `missing`: the platform cannot run. `weak`: it runs without a feature or protection. */
  state: 'ok' | 'weak' | 'missing';
  /** What is wrong and its effect; empty if the state is ok. */
  problem: string;
  /** What the operator should do; empty if the state is ok. */
  remedy: string;
}

const GB = 1e9;
const MIN_FREE_BYTES = 10 * GB;
const MIN_FREE_INODES = 100_000;
const MIN_MEMORY_BYTES = 1.8 * GB;
const MAX_CLOCK_MS = 5_000;

/** A program that the platform runs, and the effect of its absence. */
interface Needed {
  name: string;
  /** Names of programs that can replace each other: one of them suffices. */
  programs: readonly string[];
  packages: string;
  state: 'weak' | 'missing';
  without: string;
}

const NEEDED: readonly Needed[] = [
  { name: 'git', programs: ['git'], packages: 'git', state: 'missing', without: 'no repository can be cloned' },
  {
    name: 'OCI runtime',
    programs: ['runc', 'crun', 'runsc'],
    packages: 'runc',
    state: 'weak',
    without: 'hosted code runs as plain processes without isolation',
  },
  {
    name: 'conmon',
    programs: ['conmon'],
    packages: 'conmon',
    state: 'weak',
    without: 'hosted code runs as plain processes without isolation',
  },
  {
    name: 'network tools',
    programs: ['nft'],
    packages: 'nftables iproute2',
    state: 'weak',
    without: 'hosted services share the network of the host',
  },
  {
    name: 'buildah',
    programs: ['buildah'],
    packages: 'buildah',
    state: 'weak',
    without: 'Dockerfiles cannot be built',
  },
];

/** Returns one finding for each requirement of the platform, based on the facts about a host. */
export function checkHost(facts: HostFacts): Finding[] {
  return [...systemFindings(facts), ...resourceFindings(facts), ...platformFindings(facts)];
}

function systemFindings({ isLinux, isRoot, installer, programs, hasControlGroups }: HostFacts): Finding[] {
  const found = new Set(programs);
  const install = (packages: string) => (installer === null ? `install ${packages}` : `${installer} ${packages}`);
  return [
    ...NEEDED.map(({ name, programs: any, packages, state, without }) =>
      any.some((program) => found.has(program))
        ? ok(name)
        : { name, state, problem: without, remedy: install(packages) },
    ),
    isLinux
      ? ok('Linux')
      : finding('Linux', 'weak', 'hosted code runs as plain processes without isolation', 'use Linux in production'),
    isRoot
      ? ok('root')
      : finding(
          'root',
          'weak',
          'hosted code runs in user namespaces: sizes of volumes are counted and not enforced',
          'run it as root, or see docs/how-to/run-without-root.md',
        ),
    hasControlGroups
      ? ok('control groups')
      : finding(
          'control groups',
          'weak',
          'memory and processor limits of plans are not enforced',
          'mount them below /sys/fs/cgroup, as systemd does',
        ),
  ];
}

function resourceFindings({ disk, dataDir, memoryBytes, ports, platform, isClockSynchronized }: HostFacts): Finding[] {
  const isRunning = platform !== null && 'isReady' in platform && platform.isReady;
  const full = `the file system of ${dataDir} is nearly full`;
  return [
    disk === null || (disk.freeBytes >= MIN_FREE_BYTES && disk.freeInodes >= MIN_FREE_INODES)
      ? ok('disk')
      : finding(
          'disk',
          'weak',
          `${full}: ${inGb(disk.freeBytes)} GB, ${disk.freeInodes} inodes`,
          'free 10 GB, or set DATA_DIR',
        ),
    memoryBytes >= MIN_MEMORY_BYTES
      ? ok('memory')
      : finding('memory', 'weak', `builds may fail: the host has ${inGb(memoryBytes)} GB`, 'use a host with 2 GB'),
    ...ports.map(({ setting, port, isTaken }) =>
      isTaken && !isRunning
        ? finding(`port ${port}`, 'missing', 'another program listens there', `end that program, or set ${setting}`)
        : ok(`port ${port}`),
    ),
    isClockSynchronized === false
      ? finding('clock', 'weak', 'the clock is not synchronized', 'timedatectl set-ntp true')
      : ok('clock'),
  ];
}

function platformFindings({ platform }: HostFacts): Finding[] {
  if (platform === null) return [];
  if ('problem' in platform) {
    return [finding('database', 'missing', platform.problem, 'start it, or correct DATABASE_URL and DATA_DIR')];
  }
  const { isReady, onlineWorkers, clockAheadMs } = platform;
  return [
    ok('database'),
    isReady
      ? ok('API')
      : finding('API', 'missing', 'it does not answer that it is ready', 'read its log: journalctl -u ranvier-api'),
    onlineWorkers > 0
      ? ok('workers')
      : finding(
          'workers',
          'missing',
          'none is online, so deployments wait',
          'read their log: journalctl -u ranvier-worker',
        ),
    Math.abs(clockAheadMs) <= MAX_CLOCK_MS
      ? ok("database's clock")
      : finding(
          "database's clock",
          'weak',
          `this host is ${Math.round(clockAheadMs / 1000)} s ahead of the database`,
          'synchronize both clocks',
        ),
  ];
}

function ok(name: string): Finding {
  return { name, state: 'ok', problem: '', remedy: '' };
}

function finding(name: string, state: 'weak' | 'missing', problem: string, remedy: string): Finding {
  return { name, state, problem, remedy };
}

function inGb(bytes: number): string {
  return (bytes / GB).toFixed(1);
}

/** Formats findings as text: one line each, followed by the remedy unless it is ok. */
export function findingLines(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.map(({ name, state, problem, remedy }) => {
    const line = `${state.padEnd(7)}  ${name.padEnd(width)}  ${problem}`.trimEnd();
    return remedy === '' ? line : `${line}\n${' '.repeat(width + 11)}→ ${remedy}`;
  });
  return `${lines.join('\n')}\n`;
}
