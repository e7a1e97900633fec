import { resultOf } from '../../../shared/core/run-limited.js';
import { OWN_PATH } from '../../core/own-programs.js';
import { LANGUAGE_TOOLS, type LanguageName } from './language-tools.js';

/** How long a found version is cached, in milliseconds. A missing language is looked for each time. */
const KNOWN_MS = 10 * 60_000;
const PROBE_TIMEOUT_MS = 30_000;

/** The versions of the languages that are installed on this host. */
export class HostLanguages {
  readonly #known = new Map<LanguageName, { version: string; at: number }>();

  /** Returns the host's own version, such as `3.11.2`; null if the host has none. */
  async versionOf(name: LanguageName, signal: AbortSignal): Promise<string | null> {
    const known = this.#known.get(name);
    if (known !== undefined && Date.now() - known.at < KNOWN_MS) return known.version;
    const { probe, version: pattern } = LANGUAGE_TOOLS[name];
    const [program, ...args] = probe;
    const { code, stdout, stderr } = await resultOf(program, args, {
      cwd: '/',
      env: { PATH: OWN_PATH, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' },
      timeout: PROBE_TIMEOUT_MS,
      signal,
    });
    const version = code === 0 ? pattern.exec(`${stdout}\n${stderr}`)?.[1] : undefined;
    if (version === undefined) return null;
    this.#known.set(name, { version, at: Date.now() });
    return version;
  }
}
