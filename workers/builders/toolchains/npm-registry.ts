import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { field, parsedJson, text } from '../../../shared/core/json-fields.js';
import { isMissing, resultOf } from '../../../shared/core/run-limited.js';
import { OWN_PATH } from '../../core/own-programs.js';
import { BuildError } from '../../failures/explained-errors.js';

const LIST_MS = 60_000;
const INSTALL_MS = 10 * 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 ** 2;
/** Tenants choose the versions, so only names and versions that match these patterns reach npm's command line. */
const PACKAGE = /^(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*$/;
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const NOT_THERE = ['E404', 'ETARGET', 'ENOVERSIONS'];

/** Thrown if the registry could not be reached or its response was unexpected. A retry may succeed. */
export class RegistryFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RegistryFault';
  }
}

export interface NpmRegistryOptions {
  /** The variables for proxies, registry and certificates, which builds get too. */
  buildEnvironment: Readonly<Record<string, string>>;
  folder: string;
}

interface NpmAnswer {
  code: string | null;
  stdout: string;
  stderr: string;
}

/** Accesses the npm registry through this host's npm, with the worker's ~/.npmrc. Install scripts never run. */
export class NpmRegistry {
  readonly #options: NpmRegistryOptions;

  constructor(options: NpmRegistryOptions) {
    this.#options = options;
  }

  /** Returns all versions of a package; empty if there is no such package. Throws `RegistryFault`. */
  async versions(name: string, signal: AbortSignal): Promise<string[]> {
    const cache = join(this.#options.folder, 'npm-cache');
    const answer = await this.#npm(['view', checked(name, PACKAGE), 'versions', '--json'], cache, LIST_MS, signal);
    if (answer.code !== null) {
      if (NOT_THERE.includes(answer.code)) return [];
      throw unreachable(answer);
    }
    const versions = parsedJson(answer.stdout);
    const list = Array.isArray(versions) ? versions : [versions];
    return list.filter((version) => typeof version === 'string');
  }

  /** Installs a package into `folder`; false if the registry lacks it. Throws `BuildError` or `RegistryFault`. */
  async install(name: string, version: string, folder: string, signal: AbortSignal): Promise<boolean> {
    const exact = `${checked(name, PACKAGE)}@${checked(version, VERSION)}`;
    const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-bin-links', '--omit=dev', '--json'];
    const cache = join(folder, '.npm');
    const answer = await this.#npm(['install', '--prefix', folder, ...flags, exact], cache, INSTALL_MS, signal);
    if (answer.code === null) return true;
    if (NOT_THERE.includes(answer.code)) return false;
    if (answer.code === 'EBADPLATFORM') {
      throw new BuildError(
        `the package ${exact} is not for the system or processor of this host. Name a version of the tool that exists for it.`,
      );
    }
    throw unreachable(answer);
  }

  async #npm(args: string[], cache: string, timeoutMs: number, signal: AbortSignal): Promise<NpmAnswer> {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    const env = {
      npm_config_fetch_retries: '1',
      npm_config_fetch_retry_mintimeout: '1000',
      npm_config_fetch_timeout: '60000',
      ...this.#options.buildEnvironment,
      PATH: OWN_PATH,
      HOME: homedir(),
      LC_ALL: 'C',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      npm_config_loglevel: 'error',
      npm_config_cache: cache,
    };
    const options = { cwd: cache, env, signal, limits: NPM_LIMITS, timeout: timeoutMs, maxBuffer: MAX_ANSWER_BYTES };
    const { code, stdout, stderr, cut } = await resultOf('npm', args, options);
    if (code === 0 && cut === null) return { code: null, stdout, stderr };
    if (isMissing({ code, stderr })) throw new BuildError(NO_NPM);
    const late = cut === 'time' ? `npm did not end within ${timeoutMs / 1000} s` : stderr;
    return { code: errorCode(stdout, stderr) ?? 'UNKNOWN', stdout, stderr: late };
  }
}

/** High, because npm unpacks tools of hundreds of megabytes. */
const NPM_LIMITS = { memoryBytes: 4 * 1024 ** 3, processorSeconds: 600 };

const NO_NPM =
  'the host has no npm, with which the platform installs the tools that projects name. Install npm beside Node.js on the host.';

function checked(word: string, rule: RegExp): string {
  if (!rule.test(word)) throw new Error(`"${word}" is no name or version of a package`);
  return word;
}

/** Returns npm's error code; null if it printed none. Older versions of npm write it only as text to standard error. */
function errorCode(stdout: string, stderr: string): string | null {
  const code = text(field(parsedJson(stdout), 'error'), 'code');
  if (code !== '') return code;
  return /^npm (?:err!|error) code (\S+)$/im.exec(stderr)?.[1] ?? null;
}

function unreachable({ code, stdout, stderr }: NpmAnswer): RegistryFault {
  const summary = text(field(parsedJson(stdout), 'error'), 'summary');
  const reason = (summary || stderr).trim().split('\n')[0] ?? '';
  return new RegistryFault(
    `the package registry did not answer (${code}${reason === '' ? '' : `: ${reason.slice(0, 300)}`}). ` +
      'Deploy again when it does, and check npm_config_registry and the proxies of the worker if it stays so.',
  );
}
