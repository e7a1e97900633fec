import type { ProcessIdentity } from '../../shared/core/process-identity.js';
import type { ImageProcess } from '../../shared/images/model.js';
import type { HostNetwork } from '../network/host-network.js';
import type { NetworkSpec } from '../network/network-model.js';
import type { LineCutter } from './line-splitter.js';

/**
 * One command of a tenant (a build, a pre-deploy command, an application) and how it is contained. The host's level of
 * containment is determined once at start (`sandbox-level.ts`).
 */
export interface SandboxSpec {
  /** Set in the environment of every process of this sandbox (`RANVIER_SANDBOX`). Unique for each run. */
  id: string;
  /** A shell command line for `/bin/sh -c`. */
  command: string;
  /** The folder that the command sees as its own. */
  directory: string;
  /** The working directory, below `directory`; '' is the folder itself. */
  cwd: string;
  /** The command's environment. From the platform, only PATH, HOME and TMPDIR are added if they are absent. */
  env: Record<string, string>;
  /** Number of the service. If the platform runs as root, it determines the unprivileged user of the command. */
  userNumber: number;
  limits: SandboxLimits;
  /**
   * True if the command ends by itself although it outlives its worker. Then the disk limit of builds applies to it.
   */
  isRun?: true;
  /** Folders outside `directory` that the command may write to (build caches). */
  writable?: string[];
  /** Volumes that the command sees. Only with containers. */
  volumes?: readonly SandboxVolume[];
  /** Folders of tools that the command may read and execute. Their `bin` folders come first in its PATH, in this order. */
  tools?: readonly string[];
  /** Content that is never changed, the lower layer of the command's working folder. Its writes go to `directory`. */
  image?: string;
  /**
   * Makes the image the root of the command's file system, with the image's users. Without a command, starts the
   * image's own process. Requires `runsImages`.
   */
  process?: ImageProcess;
  /** Runs the command as root of a user namespace, for programs that unpack and build images. Requires `runsImages`. */
  imageTools?: true;
  /**
   * The network that the command joins, if this host gives commands their own networks. By default it is alone in one,
   * as a build is.
   */
  network?: NetworkSpec;
  /** The one port of RUNTIME_PORTS that the command may listen on; none by default. */
  port?: number;
}

/** A volume and where a command sees it. */
export interface SandboxVolume {
  /** The folder of the volume below DATA_DIR. Its content is in `data`: a file system in the file `image`, if there is that file. */
  folder: string;
  /** An absolute path. */
  path: string;
  /** True if no other command may have it exclusively at the same time. The kernel's lock ends with the command. */
  exclusive: boolean;
  /** True if the file system has to grow to the size of `image` before it is mounted. */
  grows: boolean;
}

/** The part of a sandbox that is decided before its command. */
export type SandboxBase = Pick<SandboxSpec, 'id' | 'directory' | 'userNumber' | 'limits' | 'network'>;

export interface SandboxLimits {
  memoryMb: number;
  /** Cores; 0.5 is half a core. */
  cpu: number;
  pids: number;
  /** The largest single file a process may write. */
  fileSizeMb?: number;
}

export interface RunOptions {
  /** An abort ends the whole process tree: TERM, then KILL after `graceMs`. */
  signal: AbortSignal;
  timeoutMs: number;
  graceMs: number;
  /** Called with each line of output, in order, without its line break. The output waits for the promise. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => Promise<void> | void;
  /** Decides where long lines are cut; anywhere by default. */
  cutter?: LineCutter;
}

/** How a command ended. None of the sandbox's processes is left. */
export type RunOutcome =
  | { reason: 'exited'; exitCode: number }
  | { reason: 'signalled'; signal: NodeJS.Signals }
  | { reason: 'timeout' }
  | { reason: 'aborted' }
  | { reason: 'out-of-memory' }
  /** The command filled the host's disk (`disk-guard.ts`). */
  | { reason: 'disk' };

/** A process that outlives the worker that started it. */
export type DetachedProcess = ProcessIdentity;

export interface DetachedOptions {
  /** The file to which output is appended, even while no worker lives. */
  logFile: string;
  /** The file that gets the result, even while no worker lives: "<code>", "signal <name>" or "out-of-memory". */
  exitFile: string;
  /** Called when the process ends while the worker that started it lives. */
  onExit?: () => void;
}

export interface StartedProcess extends DetachedProcess {
  /** The address at which this host reaches the command's own network, if it has one. */
  address?: string;
  /** The port at that address, if it differs from the command's own. */
  port?: number;
}

/** The resources that a sandbox has used and uses. */
export interface ResourceUsage {
  cpuSeconds: number;
  /** Memory that the kernel could not reclaim at once: unused file caches are left out. */
  memoryBytes: number;
}

/** A command that runs beside the process of an image. */
export interface InsideCommand extends Pick<ImageProcess, 'args' | 'user'> {
  cwd: string;
  timeoutMs: number;
}

/** A program that runs beside the command of a sandbox that was started. */
export interface EntryCommand {
  /** Names the entry among those of the sandbox. */
  name: string;
  args: readonly string[];
  /** Variables beside those of the sandbox's own command. */
  env: Readonly<Record<string, string>>;
  /** The working directory in an image, and the user; by default those of the sandbox's own command. */
  image?: { cwd: string; user: ImageProcess['user'] };
  terminal: boolean;
}

/** What starts a program within a sandbox, and ends it. */
export interface Entry {
  /** The argument vector and the environment of the program that makes it. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** False if the program has ended, although something that it has started may hold its output. */
  isRunning(): Promise<boolean>;
  /** Ends the program and all that it has started. Without a call, that happens if this process dies. */
  end(): Promise<void>;
}

/** Processes that do not run until they are resumed. */
export interface PausedSandbox {
  /** Lets them run again. Without a call, that happens when this process dies. */
  resume(): Promise<void>;
}

export interface InsideResult {
  /** Null if the command took too long or printed more than 1 MiB. */
  code: number | null;
  output: string;
}

export interface Sandbox {
  /** The strongest level that this host allows. */
  readonly level: SandboxLevel;
  /** True if a command can have an image as its root. */
  readonly runsImages: boolean;
  /** False if this host does not measure sandboxes. */
  readonly measuresUsage: boolean;
  /** The networks of new commands; null if they share the network of the host. */
  readonly network: HostNetwork | null;
  /**
   * The networks of all commands that have one, including commands that began under another NETWORK setting; null if
   * none has.
   */
  readonly allNetworks: HostNetwork | null;
  /**
   * Returns the path at which the command sees its folder. With its own mounts, the path is equal for every build and
   * run.
   */
  pathOf(spec: Pick<SandboxSpec, 'directory' | 'image'>): string;
  /**
   * Begins to make the folders, the control group and the network of a command that will run. If that fails, `run`
   * makes them. Every expected command must be run or forgotten.
   */
  expect(base: SandboxBase): void;
  /** Removes, in the background, what was made for a command that will not run. Does nothing if it has run. */
  forget(id: string): void;
  /** Runs a command to its end. Rejects only if the sandbox itself cannot be made. */
  run(spec: SandboxSpec, options: RunOptions): Promise<RunOutcome>;
  /** Starts a command that outlives the worker. Rejects if the sandbox cannot be made. */
  start(spec: SandboxSpec, options: DetachedOptions): Promise<StartedProcess>;
  /** Runs a command beside an image's process, within its containment and limits. Rejects if that process has ended. */
  exec(id: string, process: DetachedProcess, command: InsideCommand): Promise<InsideResult>;
  /**
   * Prepares a program beside the command of a sandbox that was started: in its namespaces, with its limits, its user and its variables.
   * Rejects if that has ended.
   */
  enter(id: string, process: DetachedProcess, command: EntryCommand): Promise<Entry>;
  /** Pauses all processes of a sandbox at one instant, until they are resumed or this process dies. */
  pause(id: string): Promise<PausedSandbox>;
  /** Passes connections to an address of a command's network on to its IPv6 loopback, until the sandbox ends. */
  relay(id: string, userNumber: number, address: string, port: number): Promise<void>;
  /** Returns true while exactly this process lives. */
  isAlive(process: DetachedProcess): Promise<boolean>;
  /** Sends TERM to the whole tree, and KILL after `graceMs`. Resolves when no process of the sandbox is left. */
  stop(id: string, process: DetachedProcess, graceMs: number): Promise<void>;
  /** Kills a sandbox that fills the disk. Its `run` ends with the reason 'disk'. */
  endForRoom(id: string): Promise<void>;
  /** Changes how many cores the sandbox may use, if this host limits them. Does nothing if it has ended. */
  limitCpu(id: string, cpu: number): Promise<void>;
  /** Returns what the sandbox has used so far; null if it has ended, or if this host does not measure it. */
  usage(id: string): Promise<ResourceUsage | null>;
  /** Returns the TCP ports on which processes of this sandbox listen; null if the host has no such information. */
  listeningPorts(id: string, process: DetachedProcess): Promise<number[] | null>;
  /**
   * Returns who accepts connections to this IPv4 address and port. 'own' is the sandbox's user or, at levels where
   * commands share a user, a process of the sandbox. 'stranger' is any other process.
   */
  portHolder(id: string, userNumber: number, address: string, port: number): Promise<PortHolder>;
  /**
   * Ends what `start` left running under unwanted ids, and the rest of each `run` whose worker has died. Returns the
   * number of ended processes. `wanted` is called after all sandboxes were listed, so that one which starts meanwhile
   * is not ended. A process that cannot be ended is logged and delays nothing else. Never touches what another DATA_DIR
   * runs.
   */
  sweep(wanted: () => Promise<(id: string) => boolean>): Promise<number>;
}

/** `nobody`: nothing listens. `unknown`: the host has no such information. */
export type PortHolder = 'own' | 'stranger' | 'nobody' | 'unknown';

/**
 * `root`: OCI containers and a user for each service. `rootless`: OCI containers that the platform's own user may make, without a user for
 * each service. `none`: plain processes without isolation; as root each service has a user of its own.
 */
export type SandboxLevel = 'root' | 'rootless' | 'none';
