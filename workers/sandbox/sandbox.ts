import type { ProcessIdentity } from '../../shared/core/process-identity.js';
import type { ImageProcess } from '../../shared/images/model.js';
import type { HostNetwork } from '../network/host-network.js';
import type { NetworkSpec } from '../network/network-model.js';
import type { LineCutter } from './line-splitter.js';

/**
 * One command of a tenant (a build, a pre-deploy command, an application) and its isolation. The host's isolation level
 * is determined once at start (`sandbox-level.ts`).
 */
export interface SandboxSpec {
  /** Set in the environment of every process of this sandbox (`RANVIER_SANDBOX`). Unique for each run. */
  id: string;
  /** A shell command line for `/bin/sh -c`. */
  command: string;
  /** The host's folder for the command's files. In a container, the command sees it at another path (`pathOf`). */
  directory: string;
  /** The working directory, below `directory`; '' is the folder itself. */
  cwd: string;
  /** The command's environment. From the platform, only PATH, HOME and TMPDIR are added if they are absent. */
  env: Record<string, string>;
  /**
   * The number of the service. If the platform is root, the command runs with the unprivileged Linux user ID that is
   * this number plus the start of the installation's range (`uidOf`).
   */
  userNumber: number;
  limits: SandboxLimits;
  /** True for a command that terminates by itself, unlike a replica. It then gets the disk limit of builds. */
  isRun?: true;
  /** Folders outside `directory` that the command may write to (build caches). */
  writable?: string[];
  /** Volumes that the command sees. They require OCI containers. */
  volumes?: readonly SandboxVolume[];
  /** Folders of tools that the command may read and execute. Their `bin` folders come first in its PATH, in order. */
  tools?: readonly string[];
  /**
   * A folder that is shown as the command's working folder and never changed. What the command writes goes to
   * `directory`.
   */
  image?: string;
  /**
   * Makes the image the root of the command's file system, with the image's users. If `command` is empty, the image's
   * own process is started. Requires `runsImages`.
   */
  process?: ImageProcess;
  /** Runs the command as root of a user namespace, for tools that unpack and build images. Requires `runsImages`. */
  imageTools?: true;
  /**
   * The network that the command joins, if commands have their own networks on this host. By default the command gets a
   * network for itself, with the rules for builds.
   */
  network?: NetworkSpec;
  /** The one port of RUNTIME_PORTS that the command may listen on; none by default. */
  port?: number;
}

/** A volume and its mount path. */
export interface SandboxVolume {
  /**
   * The folder of the volume below DATA_DIR. Its content is in the subfolder `data`. If the file `image` exists, it
   * contains a file system that is mounted at `data`.
   */
  folder: string;
  /** The mount path, which is absolute. */
  path: string;
  /** True if the command needs an exclusive lock on the volume. The kernel releases it when the command ends. */
  exclusive: boolean;
  /** True if the file system must be enlarged to the size of `image` before it is mounted. */
  grows: boolean;
}

/** The part of a sandbox's specification that is known before its command. */
export type SandboxBase = Pick<SandboxSpec, 'id' | 'directory' | 'userNumber' | 'limits' | 'network'>;

export interface SandboxLimits {
  memoryMb: number;
  /** Number of cores; 0.5 is half a core. */
  cpu: number;
  pids: number;
  /** Maximum size of a single file that a process may write. */
  fileSizeMb?: number;
}

export interface RunOptions {
  /** On abort, the whole process tree gets SIGTERM, then SIGKILL after `graceMs`. */
  signal: AbortSignal;
  timeoutMs: number;
  graceMs: number;
  /** Called with each line of output, in order, without its line break. Reading pauses until the promise resolves. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => Promise<void> | void;
  /** Decides where long lines are split; anywhere by default. */
  cutter?: LineCutter;
}

/** How a command ended. None of the sandbox's processes is left. */
export type RunOutcome =
  | { reason: 'exited'; exitCode: number }
  | { reason: 'signalled'; signal: NodeJS.Signals }
  | { reason: 'timeout' }
  | { reason: 'aborted' }
  | { reason: 'out-of-memory' }
  /** The command was killed because it filled the host's disk (`disk-guard.ts`). */
  | { reason: 'disk' };

/** A process that outlives the worker that started it. */
export type DetachedProcess = ProcessIdentity;

export interface DetachedOptions {
  /** The file to which output is appended, even while no worker runs. */
  logFile: string;
  /** The file that receives the result, even while no worker runs: "<code>", "signal <name>" or "out-of-memory". */
  exitFile: string;
  /** Called when the process exits, if the worker that started it is still running. */
  onExit?: () => void;
}

export interface StartedProcess extends DetachedProcess {
  /** The address at which this host reaches the command, if the command has its own network. */
  address?: string;
  /** The port at that address, if it differs from the command's own. */
  port?: number;
}

/** The resources that a sandbox has used and is using. */
export interface ResourceUsage {
  cpuSeconds: number;
  /** Memory that the kernel could not reclaim at once: unused file caches are not counted. */
  memoryBytes: number;
}

/** A command to run in the container of an image's process. */
export interface InsideCommand extends Pick<ImageProcess, 'args' | 'user'> {
  cwd: string;
  timeoutMs: number;
}

/** A program to run in the sandbox of a running command. */
export interface EntryCommand {
  /** Name of the entry, unique in its sandbox. */
  name: string;
  args: readonly string[];
  /** Variables in addition to those of the sandbox's own command. */
  env: Readonly<Record<string, string>>;
  /** Working folder and user of the program in an image. By default, those of the sandbox's own command. */
  image?: { cwd: string; user: ImageProcess['user'] };
  terminal: boolean;
}

/** How to start a program within a sandbox, and how to kill it. */
export interface Entry {
  /** The argument vector and the environment of the process that starts the program. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** False if the program has exited, even if a process that it started keeps its output open. */
  isRunning(): Promise<boolean>;
  /** Kills the program and everything it has started. This also happens if this process dies. */
  end(): Promise<void>;
}

/** Processes that stay paused until `resume` is called or this process dies. */
export interface PausedSandbox {
  resume(): Promise<void>;
}

export interface InsideResult {
  /** The exit code; null if the command timed out or printed more than 1 MiB. */
  code: number | null;
  output: string;
}

export interface Sandbox {
  /** The strongest isolation level that this host supports. */
  readonly level: SandboxLevel;
  /** True if an image can be the root of a command's file system. */
  readonly runsImages: boolean;
  /** True if this host measures the resources that sandboxes use. */
  readonly measuresUsage: boolean;
  /** The networks for new commands; null if they share the host's network. */
  readonly network: HostNetwork | null;
  /** The networks of all commands that have one, even from an earlier NETWORK setting; null if none has. */
  readonly allNetworks: HostNetwork | null;
  /** Returns the path at which the command sees its folder. In a container, it is the same for every build and run. */
  pathOf(spec: Pick<SandboxSpec, 'directory' | 'image'>): string;
  /**
   * Starts to create the folders, the cgroup and the network for a command that will run soon. If that fails, `run`
   * creates them. Every expected command must be run or forgotten.
   */
  expect(base: SandboxBase): void;
  /** Removes, in the background, what `expect` created for a command that will not run. Does nothing if it has run. */
  forget(id: string): void;
  /** Runs a command until it ends. Rejects only if the sandbox itself cannot be created. */
  run(spec: SandboxSpec, options: RunOptions): Promise<RunOutcome>;
  /** Starts a command that outlives the worker. Rejects if the sandbox cannot be created. */
  start(spec: SandboxSpec, options: DetachedOptions): Promise<StartedProcess>;
  /** Runs a command next to an image's process, with its isolation and limits. Rejects if that process has exited. */
  exec(id: string, process: DetachedProcess, command: InsideCommand): Promise<InsideResult>;
  /**
   * Prepares a program to run in the sandbox of a running command: in its namespaces, with its limits, its user and its
   * variables. Rejects if the command has ended.
   */
  enter(id: string, process: DetachedProcess, command: EntryCommand): Promise<Entry>;
  /** Pauses all processes of a sandbox at the same instant, until they are resumed or this process dies. */
  pause(id: string): Promise<PausedSandbox>;
  /** Accepts connections at an address in the command's network and forwards them to `::1`. Ends with the sandbox. */
  relay(id: string, userNumber: number, address: string, port: number): Promise<void>;
  /** Returns true while exactly this process is running. A reused pid does not count. */
  isAlive(process: DetachedProcess): Promise<boolean>;
  /**
   * Sends the image's stop signal or SIGTERM, and SIGKILL after `graceMs`. Resolves when no process of the sandbox is
   * left.
   */
  stop(id: string, process: DetachedProcess, graceMs: number): Promise<void>;
  /** Kills a sandbox that fills the disk. Its `run` then resolves with the reason 'disk'. */
  endForRoom(id: string): Promise<void>;
  /** Changes how many cores the sandbox may use, if this host limits them. Does nothing if the sandbox has ended. */
  limitCpu(id: string, cpu: number): Promise<void>;
  /** Returns the resources that the sandbox has used so far; null if it has ended, or if they are not measured. */
  usage(id: string): Promise<ResourceUsage | null>;
  /** Returns the TCP ports on which processes of this sandbox listen; null if the host has no such information. */
  listeningPorts(id: string, process: DetachedProcess): Promise<number[] | null>;
  /**
   * Returns who accepts connections to this IPv4 address and port. 'own' is the sandbox's user or, at levels where
   * commands share a user, a process of the sandbox. 'stranger' is any other process.
   */
  portHolder(id: string, userNumber: number, address: string, port: number): Promise<PortHolder>;
  /**
   * Ends sandboxes that `start` created and for which the function from `wanted` returns false. Also ends sandboxes of
   * `run` whose worker has died. Returns the number of killed processes. `wanted` is called after all sandboxes were
   * listed, so that a sandbox that starts meanwhile is not killed. If a process cannot be killed, the sweep logs this
   * and goes on. It never ends sandboxes of another DATA_DIR.
   */
  sweep(wanted: () => Promise<(id: string) => boolean>): Promise<number>;
}

/**
 * Who listens on a port. `own`: the sandbox. `stranger`: a process that does not belong to the sandbox. `nobody`: no
 * process. `unknown`: the host does not show which processes listen.
 */
export type PortHolder = 'own' | 'stranger' | 'nobody' | 'unknown';

/**
 * `root`: OCI containers, and a user for each service. `rootless`: OCI containers that an unprivileged user may create,
 * without a user for each service. `none`: plain processes without isolation; as root, each service has its own user.
 */
export type SandboxLevel = 'root' | 'rootless' | 'none';
