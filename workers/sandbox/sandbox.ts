import type { ProcessIdentity } from '../../shared/core/process-identity.js';
import type { ImageProcess } from '../../shared/images/model.js';
import type { HostNetwork } from '../network/host-network.js';
import type { NetworkSpec } from '../network/network-model.js';
import type { LineCutter } from './line-splitter.js';

/** One command of a tenant (a build, a pre-deploy command, an application) and its isolation. */
export interface SandboxSpec {
  /** An id that is unique for each run. Every process of the sandbox has it in its environment (`RANVIER_SANDBOX`). */
  id: string;
  command: string;
  /** The host's folder for the command's files. The command may see it at another path (`pathOf`). */
  directory: string;
  /** The working directory, below `directory`; '' is the folder itself. */
  cwd: string;
  /** Environment variables. The platform adds PATH if it is absent and, unless `process` is set, HOME and TMPDIR. */
  env: Record<string, string>;
  /** The number of the service, from which the command's unprivileged Linux user ID is derived (`uidOf`). */
  userNumber: number;
  limits: SandboxLimits;
  /** True for a command that terminates by itself, unlike a replica. The command then gets the disk limit of builds. */
  isRun?: true;
  /** Folders outside `directory` that the command may write to (build caches). */
  writable?: string[];
  /** Volumes require OCI containers. */
  volumes?: readonly SandboxVolume[];
  /** Folders of tools that the command may read and execute. Their `bin` folders come first in its PATH, in order. */
  tools?: readonly string[];
  /** A folder that is shown as the command's working folder and never changed. Writes go to `directory`. */
  image?: string;
  /**
   * Makes the image the root of the command's file system. If `command` is empty, the image's own process is started.
   * Requires `runsImages`.
   */
  process?: ImageProcess;
  /** Runs the command as root of a user namespace, for tools that unpack and build images. Requires `runsImages`. */
  imageTools?: true;
  /** By default the command gets a network for itself, with the rules for builds. */
  network?: NetworkSpec;
  /** The one port of RUNTIME_PORTS that the command may listen on; none by default. */
  port?: number;
}

export interface SandboxVolume {
  /**
   * The folder of the volume below DATA_DIR. Its content is in the subfolder `data`, at which the file system in the
   * file `image` is mounted if that file exists.
   */
  folder: string;
  path: string;
  /** True if the command needs an exclusive lock on the volume. The kernel releases it when the command ends. */
  exclusive: boolean;
  /** True if the file system must be enlarged to the size of `image` before it is mounted. */
  grows: boolean;
}

export type SandboxBase = Pick<SandboxSpec, 'id' | 'directory' | 'userNumber' | 'limits' | 'network'>;

export interface SandboxLimits {
  memoryMb: number;
  cpu: number;
  pids: number;
  fileSizeMb?: number;
}

export interface RunOptions {
  /** On abort, the whole process tree gets SIGTERM, then SIGKILL after `graceMs`. */
  signal: AbortSignal;
  timeoutMs: number;
  graceMs: number;
  /** Reading of the output pauses until the returned promise resolves. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => Promise<void> | void;
  cutter?: LineCutter;
}

/** How a command ended. None of the sandbox's processes is left. */
export type RunOutcome =
  | { reason: 'exited'; exitCode: number }
  | { reason: 'signalled'; signal: NodeJS.Signals }
  | { reason: 'timeout' }
  | { reason: 'aborted' }
  | { reason: 'out-of-memory' }
  /** The command was killed because it filled the host's disk. */
  | { reason: 'disk' };

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
  /** The address at which this host reaches the command's own network. */
  address?: string;
  /** The port at that address, if it differs from the command's own. */
  port?: number;
}

export interface ResourceUsage {
  cpuSeconds: number;
  /** Memory that the kernel could not reclaim at once: unused file caches are not counted. */
  memoryBytes: number;
}

export interface InsideCommand extends Pick<ImageProcess, 'args' | 'user'> {
  cwd: string;
  timeoutMs: number;
}

export interface EntryCommand {
  name: string;
  args: readonly string[];
  /** Variables in addition to those of the sandbox's own command. */
  env: Readonly<Record<string, string>>;
  /** The working folder and the user of the program; by default those of the sandbox's own command. */
  image?: { cwd: string; user: ImageProcess['user'] };
  terminal: boolean;
}

export interface Entry {
  /** The argument vector and the environment of the process that starts the program. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** False if the program has exited, even if a process that it started keeps its output open. */
  isRunning(): Promise<boolean>;
  /** Kills the program and everything it has started. If this process dies, they are killed too. */
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
  readonly level: SandboxLevel;
  /** True if an image can be the root of a command's file system. */
  readonly runsImages: boolean;
  readonly measuresUsage: boolean;
  /** Null if new commands share the host's network. */
  readonly network: HostNetwork | null;
  /**
   * Includes the networks that running commands got under an earlier NETWORK setting; null if no command has a network.
   */
  readonly allNetworks: HostNetwork | null;
  /** Returns the path at which the command sees its folder. In a container, it is the same for every build and run. */
  pathOf(spec: Pick<SandboxSpec, 'directory' | 'image'>): string;
  /** Starts to prepare for a command that will run soon. Every expected command must be run or forgotten. */
  expect(base: SandboxBase): void;
  /** Removes what `expect` created. Does nothing if the command has run. */
  forget(id: string): void;
  /** Rejects if the sandbox cannot be created, or with an error of `onLine`. */
  run(spec: SandboxSpec, options: RunOptions): Promise<RunOutcome>;
  /** Starts a command that outlives the worker. */
  start(spec: SandboxSpec, options: DetachedOptions): Promise<StartedProcess>;
  /** Runs a command next to an image's process, with the isolation and the limits of that process. */
  exec(id: string, process: DetachedProcess, command: InsideCommand): Promise<InsideResult>;
  /**
   * Prepares a program to run in a command's namespaces, with the limits, the user and the variables of the command.
   * Rejects if the command has ended.
   */
  enter(id: string, process: DetachedProcess, command: EntryCommand): Promise<Entry>;
  /** Pauses all processes of a sandbox until they are resumed or this process dies. */
  pause(id: string): Promise<PausedSandbox>;
  /** Forwards connections from an address in the command's network to `::1`, until the sandbox ends. */
  relay(id: string, userNumber: number, address: string, port: number): Promise<void>;
  /** Returns false if the process has exited, even if another process has reused its pid. */
  isAlive(process: DetachedProcess): Promise<boolean>;
  /** Sends the image's stop signal or SIGTERM, and SIGKILL after `graceMs`. Resolves when no process is left. */
  stop(id: string, process: DetachedProcess, graceMs: number): Promise<void>;
  /** Kills a sandbox that fills the disk. Its `run` then resolves with the reason 'disk'. */
  endForRoom(id: string): Promise<void>;
  /** Does nothing if this host does not limit cores or if the sandbox has ended. */
  limitCpu(id: string, cpu: number): Promise<void>;
  /** Null if the sandbox has ended, or if the resources are not measured. */
  usage(id: string): Promise<ResourceUsage | null>;
  /** Null if the host does not show which ports the processes listen on. */
  listeningPorts(id: string, process: DetachedProcess): Promise<number[] | null>;
  portHolder(id: string, userNumber: number, address: string, port: number): Promise<PortHolder>;
  /**
   * Ends sandboxes of `start` that are not wanted, and sandboxes of `run` whose worker has died. Returns the number of
   * killed processes. `wanted` is called after all sandboxes were listed, so that a sandbox that starts meanwhile is
   * not killed. Never ends sandboxes of another DATA_DIR.
   */
  sweep(wanted: () => Promise<(id: string) => boolean>): Promise<number>;
}

/**
 * `own`: the sandbox's user or, if commands share a user, a process of the sandbox. `stranger`: any other process.
 * `unknown`: the host does not show which processes listen.
 */
export type PortHolder = 'own' | 'stranger' | 'nobody' | 'unknown';

/**
 * `root`: OCI containers, and a user for each service. `rootless`: OCI containers that an unprivileged user may create.
 * `none`: plain processes without isolation. If the worker runs as root, each service still has its own user.
 */
export type SandboxLevel = 'root' | 'rootless' | 'none';
