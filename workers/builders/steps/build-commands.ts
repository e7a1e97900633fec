import { availableParallelism, constants, totalmem } from 'node:os';
import { planOf } from '../../../shared/services/plan-catalog.js';
import { BuildError } from '../../failures/explained-errors.js';
import { memoryAdvice, withAdvice } from '../../failures/failure-advice.js';
import { scopeOf } from '../../network/network-model.js';
import { mostOfRun } from '../../sandbox/disk-model.js';
import type { RunOutcome, Sandbox, SandboxBase, SandboxSpec } from '../../sandbox/sandbox.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { CommandOutput } from './command-output.js';
import { checkKey, isKnown, remember } from './tool-checks.js';

/**
 * The memory of a build under a small plan. Compilers need more memory than small plans have. Large bundlers need more
 * than 2 GB, but a small host cannot give a build more.
 */
const MIN_MEMORY_MB = totalmem() >= 7.5 * 1024 ** 3 ? 4096 : 2048;
const PIDS = 1024;
const GRACE_MS = 2000;
/** The prefix of the id of every build's sandbox. */
export const BUILD_SANDBOX = 'build-';

export interface CommandSetting {
  sandbox: Sandbox;
  request: BuildRequest;
  context: BuildContext;
  /** When the time limit for the whole build expires, in milliseconds since the epoch. */
  deadline: number;
  /** The folder with the repository's files. `cwd` is the folder below it in which commands run. */
  app: string;
  cwd: string;
  writable: string[];
  environment: Record<string, string>;
  searchPath: string[];
  /** Folders of the tools that the platform installed for the project. */
  tools: string[];
}

/** Thrown if a command of a build fails. */
export class CommandError extends BuildError {
  /** The first and the last lines of the command's output. */
  readonly output: readonly string[];

  constructor(message: string, output: readonly string[]) {
    super(message);
    this.output = output;
  }
}

/** Runs the commands of a build one after the other, each in its own sandbox. */
export class Commands {
  readonly #setting: CommandSetting;
  #number = 0;

  constructor(setting: CommandSetting) {
    this.#setting = setting;
  }

  /** Runs and logs a command, after `preparation`, which is not logged. Throws `CommandError` if the command fails. */
  async run(
    command: string,
    environment: Record<string, string> = {},
    { preparation = '', cwd = this.#setting.cwd }: { preparation?: string; cwd?: string } = {},
  ): Promise<void> {
    const { context, request } = this.#setting;
    await context.log(`$ ${command}`);
    const output = new CommandOutput(context);
    const began = Date.now();
    const prepared = `${preparation}${inSearchPath(this.#setting.searchPath, command)}`;
    const variables = { ...this.#setting.environment, ...environment };
    const outcome = await this.#sandboxed(prepared, variables, (line) => output.write(line), cwd);
    await output.close();
    context.signal.throwIfAborted();
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    if (outcome.reason === 'exited' && outcome.exitCode === 0) return context.log(`"${command}" took ${seconds} s`);
    const text = `"${command}" ${failure(outcome, request, output.cause())}`;
    const facts = { phase: 'build', memoryMb: buildMemoryMb(request), hasSubmodules: context.hasSubmodules } as const;
    const advice = outcome.reason === 'out-of-memory' ? memoryAdvice(facts) : output.advice(facts);
    throw new CommandError(outcome.reason === 'timeout' ? text : withAdvice(text, advice), output.telling());
  }

  /**
   * Throws `BuildError` if a tool that the build needs is not installed. The check runs outside of the project's folder
   * and without the service's variables, so that a success counts for other builds. A service with its own PATH is
   * checked each time.
   */
  async requireTools({ tools, runtime }: Pick<BuildPlan, 'tools' | 'runtime'>): Promise<void> {
    if (tools.length === 0) return;
    const missing: string[] = [];
    const { PATH } = this.#setting.environment;
    const key = PATH === undefined ? await checkKey(tools, this.#setting.tools) : null;
    if (key !== null && isKnown(key, Date.now())) return;
    const checks = tools.map(({ name, check }) => `(${check}) >/dev/null 2>&1 || echo 'missing ${name}'`);
    const environment: Record<string, string> = PATH === undefined ? {} : { PATH };
    const outcome = await this.#sandboxed(['cd /', ...checks].join('\n'), environment, (line) => {
      if (line.startsWith('missing ')) missing.push(line.slice('missing '.length));
    });
    this.#setting.context.signal.throwIfAborted();
    if (outcome.reason !== 'exited')
      throw new BuildError(`looking for tools ${failure(outcome, this.#setting.request, '')}`);
    const advice = tools.filter(({ name }) => missing.includes(name)).map((tool) => tool.advice);
    if (advice.length > 0) {
      const what = `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed on this host`;
      throw new BuildError(`a ${runtime} project cannot be built here: ${what}; ${advice.join('; ')}`);
    }
    if (key !== null) remember(key, Date.now());
  }

  #sandboxed(
    command: string,
    environment: Record<string, string>,
    onLine: (line: string) => Promise<void> | void,
    cwd = this.#setting.cwd,
  ): Promise<RunOutcome> {
    const { sandbox, request, context, deadline, app, writable, tools } = this.#setting;
    this.#number += 1;
    const base = buildSandbox(request, app, this.#number);
    const spec: SandboxSpec = { ...base, command, cwd, env: environment, writable, tools };
    const timeoutMs = Math.max(1, deadline - Date.now());
    return sandbox.run(spec, {
      signal: context.signal,
      timeoutMs,
      graceMs: GRACE_MS,
      onLine,
      ...(context.masker ? { cutter: context.masker } : {}),
    });
  }
}

/**
 * Returns the settings of one sandbox. The first command has the number 1, so that its sandbox can be prepared early.
 */
export function buildSandbox(request: BuildRequest, app: string, number: number): SandboxBase {
  return {
    id: `${BUILD_SANDBOX}${request.id}-${number}`,
    directory: app,
    userNumber: request.userNumber,
    limits: {
      memoryMb: buildMemoryMb(request),
      cpu: availableParallelism(),
      pids: PIDS,
      fileSizeMb: storageMb(request),
    },
    network: { scope: scopeOf(request), use: 'build', hostName: '' },
  };
}

/** Returns the maximum size of an image under the service's plan, in MB. No file of a build may be larger. */
export function storageMb({ configuration }: Pick<BuildRequest, 'configuration'>): number {
  return (planOf(configuration.plan).storageGb ?? 1) * 1024;
}

/** Puts folders of the project first in PATH. They are relative to `$PWD`, because an image can be in any folder. */
export function inSearchPath(folders: readonly string[], command: string): string {
  if (folders.length === 0) return command;
  return `export PATH="${folders.map((folder) => `$PWD/${folder}:`).join('')}$PATH"; ${command}`;
}

/** Returns the memory that all processes of a build may use together, in MB. */
export function buildMemoryMb({ configuration }: Pick<BuildRequest, 'configuration'>): number {
  return Math.max(planOf(configuration.plan).memoryMb, MIN_MEMORY_MB);
}

/**
 * Returns NODE_OPTIONS of a build. A limited heap makes Node.js collect garbage before the kernel kills it. The
 * service's own options are last, because the last value of an option takes effect.
 */
export function heapOptions(
  request: Pick<BuildRequest, 'configuration' | 'environment'>,
  planned: Readonly<Record<string, string>> = {},
): string {
  const heap = `--max-old-space-size=${Math.floor(buildMemoryMb(request) * 0.75)}`;
  return [heap, planned.NODE_OPTIONS, request.environment.NODE_OPTIONS].filter(Boolean).join(' ');
}

/** Returns why a command failed. `cause` is the most significant line of its output, or empty. */
export function failure(outcome: RunOutcome, request: Pick<BuildRequest, 'configuration'>, cause: string): string {
  switch (outcome.reason) {
    case 'exited':
      if (outcome.exitCode === 128 + constants.signals.SIGXFSZ) return fileTooLarge(request);
      return `exited with code ${outcome.exitCode}${cause === '' ? '' : `: ${cause}`}`;
    case 'signalled':
      if (outcome.signal === 'SIGXFSZ') return fileTooLarge(request);
      return `was ended by ${outcome.signal}${cause === '' ? '' : `: ${cause}`}`;
    case 'out-of-memory':
      return `was killed for using more than ${buildMemoryMb(request)} MB of memory`;
    case 'timeout':
      return didNotFinish(request);
    case 'disk':
      return filledDisk(request);
    case 'aborted':
      return 'was interrupted';
  }
}

function filledDisk(request: Pick<BuildRequest, 'configuration'>): string {
  const { bytes, files } = mostOfRun(storageMb(request));
  const most = `${Math.floor(bytes / 1024 ** 3)} GB or ${files} files`;
  return `was ended, because it filled the disk of the host or wrote more than ${most} with its caches. Write less, or set clearCache and deploy again`;
}

function fileTooLarge(request: Pick<BuildRequest, 'configuration'>): string {
  const { plan } = request.configuration;
  return `wrote a file of more than ${storageMb(request)} MB, the storage of the plan ${plan}. Write less, or choose a plan with more storage.`;
}

export function didNotFinish({ configuration }: Pick<BuildRequest, 'configuration'>): string {
  return `did not finish within ${configuration.timeoutSeconds} s (timeoutSeconds counts for the whole build)`;
}
