import type { LineCutter } from './lines.js';

/**
 * Runs commands of strangers (builds, pre-deploy commands, applications) as contained as the host allows. The levels,
 * detected once at start, are in `levels.ts`; what each isolates is in the README.
 */
export interface SandboxSpec {
  /** Marks every process of this sandbox in its environment (`RANVIER_SANDBOX`); unique for each run. */
  id: string;
  /** A shell command line for `/bin/sh -c`. */
  command: string;
  /** The folder the command sees as its own and works in (`cwd` is below it). */
  directory: string;
  /** Below `directory`; '' is the folder itself. */
  cwd: string;
  /** The whole environment of the command; nothing of the platform's own is added but PATH, HOME and TMPDIR where absent. */
  env: Record<string, string>;
  /** Number of the service: gives the unprivileged user where the platform is root. */
  userNumber: number;
  limits: SandboxLimits;
  /** Folders outside `directory` that the command may write to (build caches). */
  writable?: string[];
  /** Immutable content that the command sees as its folder; what it writes lands in `directory` and never here. */
  image?: string;
}

export interface SandboxLimits {
  memoryMb: number;
  /** Cores; 0.5 is half a core. */
  cpu: number;
  pids: number;
  /** The largest single file a process may write. */
  fileSizeMb?: number;
}

export interface RunOptions {
  /** Ends the whole process tree: TERM, then KILL after `graceMs`. */
  signal: AbortSignal;
  timeoutMs: number;
  graceMs: number;
  /** Each line of output, in order, without its end; awaiting it holds the output back. */
  onLine: (line: string, stream: 'stdout' | 'stderr') => Promise<void> | void;
  /** Where lines that are too long are cut; anywhere by default. */
  cutter?: LineCutter;
}

/** How a command ended. No process of it is left when this is returned. */
export type RunOutcome =
  | { reason: 'exited'; exitCode: number }
  | { reason: 'signalled'; signal: NodeJS.Signals }
  | { reason: 'timeout' }
  | { reason: 'aborted' }
  | { reason: 'out-of-memory' };

/** A process that outlives the worker that started it. */
export interface DetachedProcess {
  pid: number;
  /** The kernel's start time of that pid: together they name the process for good. */
  startedAt: string;
}

export interface DetachedOptions {
  /** Output is appended here, so that it goes on while no worker lives. */
  logFile: string;
  /** How the command ended is written here, also while no worker lives: "<code>", "signal <name>" or "out-of-memory". */
  exitFile: string;
  /** Called when the process ends while the worker that started it lives. */
  onExit?: () => void;
}

export interface Sandbox {
  /** `namespaces`, `user` or `none`: the strongest level this host allows. */
  readonly level: SandboxLevel;
  /** Where the command sees its folder: the same path for every build and every run at level `namespaces`. */
  pathOf(spec: Pick<SandboxSpec, 'directory' | 'image'>): string;
  /** Runs to the end. Rejects only where the sandbox itself cannot be made. */
  run(spec: SandboxSpec, options: RunOptions): Promise<RunOutcome>;
  /** Starts and leaves running. */
  start(spec: SandboxSpec, options: DetachedOptions): Promise<DetachedProcess>;
  /** True while that very process lives. */
  isAlive(process: DetachedProcess): Promise<boolean>;
  /** TERM to the whole tree, KILL after `graceMs`; returns when nothing of the sandbox is left. */
  stop(id: string, process: DetachedProcess, graceMs: number): Promise<void>;
  /** TCP ports on which processes of this sandbox listen; null where the host does not tell. */
  listeningPorts(id: string, process: DetachedProcess): Promise<number[] | null>;
  /**
   * Ends what `start` left running under ids that are not wanted any more, and what is left of `run` where its worker has
   * died; returns how many processes it ended. Never touches what another DATA_DIR runs.
   */
  sweep(isWanted: (id: string) => boolean): Promise<number>;
}

export type SandboxLevel = 'namespaces' | 'user' | 'none';
