import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../../shared/core/exists.js';
import { resultOf } from '../../../shared/core/run-limited.js';
import { OWN_PATH } from '../../core/own-programs.js';
import type { LanguageName } from './language-tools.js';
import type { ToolVersion } from './tool-packages.js';

const LIST_TIMEOUT_MS = 60_000;
/** Long, because some languages are compiled during installation. */
const INSTALL_TIMEOUT_MS = 30 * 60_000;
const LIMITS = { memoryBytes: 4 * 1024 ** 3, processorSeconds: 3600 };

/** Thrown if mise could not list or install versions. */
export class MiseError extends Error {}

export interface MiseOptions {
  program: string;
  /** The folder of mise's caches and plugins. */
  folder: string;
  /** Variables for proxies, mirrors and certificates. */
  environment: Readonly<Record<string, string>>;
}

/** Uses the program mise (https://mise.jdx.dev) to install languages that the host lacks. */
export class Mise {
  readonly #options: MiseOptions;

  constructor(options: MiseOptions) {
    this.#options = options;
  }

  /** Returns all versions of a language that can be installed. Throws `MiseError`. */
  async versions(name: LanguageName, signal: AbortSignal): Promise<string[]> {
    const text = await this.#run(['ls-remote', name], LIST_TIMEOUT_MS, signal);
    return text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^\d/.test(line));
  }

  /** Installs a version into a new folder, with its programs in `bin`. Throws `MiseError`. */
  async install({ name, version }: ToolVersion<LanguageName>, folder: string, signal: AbortSignal): Promise<void> {
    const target = join(folder, 'tool');
    await this.#run(['install-into', `${name}@${version}`, target], INSTALL_TIMEOUT_MS, signal);
    const programs = (await exists(join(target, 'bin'))) ? 'tool/bin' : 'tool';
    await rm(join(folder, 'bin'), { force: true });
    await symlink(programs, join(folder, 'bin'));
  }

  async #run(args: string[], timeout: number, signal: AbortSignal): Promise<string> {
    const { program, folder, environment } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const env = {
      ...environment,
      PATH: OWN_PATH,
      HOME: folder,
      MISE_DATA_DIR: join(folder, 'data'),
      MISE_CACHE_DIR: join(folder, 'cache'),
      MISE_CONFIG_DIR: join(folder, 'config'),
      MISE_STATE_DIR: join(folder, 'state'),
      MISE_YES: '1',
      MISE_COLOR: '0',
    };
    const { code, stdout, stderr, cut } = await resultOf(program, args, {
      cwd: folder,
      env,
      limits: LIMITS,
      timeout,
      signal,
    });
    if (code === 0 && cut === null) return stdout;
    const reason = cut === 'time' ? `mise did not end within ${timeout / 1000} s` : lastLine(stderr);
    throw new MiseError(reason);
  }
}

function lastLine(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/^mise ERROR /, '').trim())
    .filter((line) => line !== '');
  // mise's last line only mentions an option that shows more, so a line about an error is preferred.
  return (lines.find((line) => /error|fail|not found/i.test(line)) ?? lines.at(-1) ?? 'no reason was given').slice(
    0,
    300,
  );
}
