export interface HostFacts {
  isRoot: boolean;
  isLinux: boolean;
  /** The package manager's command that installs packages; null if unknown. */
  installer: 'apt-get install' | 'dnf install' | null;
  programs: readonly string[];
  hasControlGroups: boolean;
  dataDir: string;
  /** Null if the folder's file system cannot be queried. */
  disk: { freeBytes: number; freeInodes: number } | null;
  memoryBytes: number;
  /** The port of each setting, and whether a process already listens on it. */
  ports: readonly { setting: string; port: number; isTaken: boolean }[];
  /** Null if the host does not report whether the clock is synchronized. */
  isClockSynchronized: boolean | null;
  /** Null if no platform was set up; a `problem` if its database does not respond. */
  platform: PlatformFacts | { problem: string } | null;
}

export interface PlatformFacts {
  isReady: boolean;
  onlineWorkers: number;
  /** How far this host's clock is ahead of the database server's. Negative if it is behind. */
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
    ...NEEDED.map(({ name, programs: any, packages, state, without }) => {
      const isThere = any.some((program) => found.has(program));
      return finding(name, isThere, state, { problem: without, remedy: install(packages) });
    }),
    finding('Linux', isLinux, 'weak', {
      problem: 'hosted code runs as plain processes without isolation',
      remedy: 'use Linux in production',
    }),
    finding('root', isRoot, 'weak', {
      problem: 'hosted code runs in user namespaces: sizes of volumes are counted and not enforced',
      remedy: 'run it as root, or see docs/how-to/run-without-root.md',
    }),
    finding('control groups', hasControlGroups, 'weak', {
      problem: 'memory and processor limits of plans are not enforced',
      remedy: 'mount them below /sys/fs/cgroup, as systemd does',
    }),
  ];
}

function resourceFindings({ disk, dataDir, memoryBytes, ports, platform, isClockSynchronized }: HostFacts): Finding[] {
  const isRunning = platform !== null && 'isReady' in platform && platform.isReady;
  const { freeBytes, freeInodes } = disk ?? { freeBytes: MIN_FREE_BYTES, freeInodes: MIN_FREE_INODES };
  return [
    finding('disk', freeBytes >= MIN_FREE_BYTES && freeInodes >= MIN_FREE_INODES, 'weak', {
      problem: `the file system of ${dataDir} is nearly full: ${inGb(freeBytes)} GB, ${freeInodes} inodes`,
      remedy: 'free 10 GB, or set DATA_DIR',
    }),
    finding('memory', memoryBytes >= MIN_MEMORY_BYTES, 'weak', {
      problem: `builds may fail: the host has ${inGb(memoryBytes)} GB`,
      remedy: 'use a host with 2 GB',
    }),
    ...ports.map(({ setting, port, isTaken }) =>
      finding(`port ${port}`, !isTaken || isRunning, 'missing', {
        problem: 'another program listens there',
        remedy: `end that program, or set ${setting}`,
      }),
    ),
    finding('clock', isClockSynchronized !== false, 'weak', {
      problem: 'the clock is not synchronized',
      remedy: 'timedatectl set-ntp true',
    }),
  ];
}

function platformFindings({ platform }: HostFacts): Finding[] {
  if (platform === null) return [];
  if ('problem' in platform) {
    const remedy = 'start it, or correct DATABASE_URL and DATA_DIR';
    return [finding('database', false, 'missing', { problem: platform.problem, remedy })];
  }
  const { isReady, onlineWorkers, clockAheadMs } = platform;
  return [
    finding('database', true),
    finding('API', isReady, 'missing', {
      problem: 'it does not answer that it is ready',
      remedy: 'read its log: journalctl -u ranvier-api',
    }),
    finding('workers', onlineWorkers > 0, 'missing', {
      problem: 'none is online, so deployments wait',
      remedy: 'read their log: journalctl -u ranvier-worker',
    }),
    finding("database's clock", Math.abs(clockAheadMs) <= MAX_CLOCK_MS, 'weak', {
      problem: `this host is ${Math.round(clockAheadMs / 1000)} s ahead of the database`,
      remedy: 'synchronize both clocks',
    }),
  ];
}

/** `state` and `texts` count only if the requirement is not met. */
function finding(
  name: string,
  isMet: boolean,
  state: 'weak' | 'missing' = 'missing',
  texts = { problem: '', remedy: '' },
): Finding {
  return isMet ? { name, state: 'ok', problem: '', remedy: '' } : { name, state, ...texts };
}

function inGb(bytes: number): string {
  return (bytes / GB).toFixed(1);
}

/** Formats findings as text, one line each, with the remedy below. */
export function findingLines(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.map(({ name, state, problem, remedy }) => {
    const line = `${state.padEnd(7)}  ${name.padEnd(width)}  ${problem}`.trimEnd();
    return remedy === '' ? line : `${line}\n${' '.repeat(width + 11)}→ ${remedy}`;
  });
  return `${lines.join('\n')}\n`;
}
