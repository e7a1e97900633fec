import { constants } from 'node:fs';
import { access, mkdir, realpath, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { type Config, ConfigError } from '../../../shared/core/config.js';
import type { Logger } from '../../../shared/core/log.js';
import { quote } from '../../core/quote.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { USUAL_PATH } from '../../sandbox/sandbox-plan.js';
import { ownDirectory } from '../../sandbox/service-users.js';
import { withoutPaths } from '../dockerfile/open-dockerfile.js';
import { type CommandSetting, Commands } from '../steps/build-commands.js';
import { openRelay } from './buildkit-relay.js';

/** The Railpack program, and the address of the BuildKit that it uses. */
export interface Railpack {
  /** The program's real path. */
  program: string;
  buildkitHost: string;
}

export interface RailpackBuild extends Pick<CommandSetting, 'sandbox' | 'request' | 'context' | 'deadline' | 'app'> {
  folder: string;
  /** The project's folder below `app`. */
  project: string;
  /** The namespace of this service's caches in BuildKit, which no other service can guess. */
  cacheKey: string;
  /** The folder of this service's caches, which is kept between builds. */
  cache: string;
  name: string;
  /** If null, Railpack chooses the start command. */
  startCommand: string | null;
  buildEnvironment: Config['buildEnvironment'];
}

/** Returns Railpack; null if `BUILDKIT_HOST` is not set. Throws `ConfigError` if this worker cannot use it. */
export async function findRailpack(
  { railpack: { buildkitHost, searchPath } }: Pick<Config, 'railpack'>,
  { level }: Pick<Sandbox, 'level'>,
  log: Logger,
): Promise<Railpack | null> {
  const program = await findProgram(searchPath);
  if (buildkitHost === null) {
    if (program !== null) log.info('railpack is installed and not used: BUILDKIT_HOST does not say where BuildKit is');
    return null;
  }
  if (program === null) {
    throw new ConfigError([
      'BUILDKIT_HOST is set, and no program "railpack" is on the PATH: install Railpack, or unset it',
    ]);
  }
  if (level !== 'root') {
    throw new ConfigError([
      `BUILDKIT_HOST is set, and Railpack needs OCI containers as root (level "root"), and this worker has the level "${level}": run it as root on ` +
        'Linux, or unset it',
    ]);
  }
  log.info({ program, buildkitHost }, 'Railpack builds repositories');
  return { program, buildkitHost };
}

async function findProgram(searchPath: string): Promise<string | null> {
  for (const folder of searchPath.split(delimiter).filter((path) => path.startsWith('/'))) {
    const path = join(folder, 'railpack');
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return realpath(path);
  }
  return null;
}

/**
 * Builds a project and returns the path of its image's archive. Throws `BuildError`. A repository can make Railpack run
 * commands, so Railpack runs in the sandbox. It passes the image to `docker load`; a script named `docker` in its PATH
 * writes the image to a file instead.
 */
export async function buildByRailpack({ program, buildkitHost }: Railpack, build: RailpackBuild): Promise<string> {
  const { sandbox, request, context, deadline, app, project, cache, buildEnvironment } = build;
  const tools = join(build.folder, 'railpack');
  const [archive, socket] = [join(tools, 'image.tar'), join(tools, 'buildkit')];
  const own = { PATH: [tools, ...USUAL_PATH].join(':'), BUILDKIT_HOST: `unix://${socket}` };
  const given = { ...withoutPaths(buildEnvironment), CI: 'true', ...request.environment };
  // PATH and BUILDKIT_HOST are not passed to the image: here they have the values that Railpack itself needs.
  const names = Object.keys(given).filter((name) => !Object.hasOwn(own, name));
  await mkdir(tools, { mode: 0o700 });
  await writeScript(join(tools, 'docker'), `exec cat >${quote(archive)}`);
  await writeScript(
    join(tools, 'railpack'),
    // Every sandbox has its own /tmp, so Railpack's folder for downloaded tools is a link into the cache.
    `mkdir -p ${quote(cache)}/railpack && ln -s ${quote(cache)}/railpack /tmp/railpack`,
    `exec ${quote(program)} "$@" ${railpackArguments(build, names).map(quote).join(' ')}`,
  );
  const relay = await openRelay(socket, buildkitHost);
  try {
    for (const folder of [tools, app]) await ownDirectory(folder, request.userNumber);
    const commands = new Commands({
      sandbox,
      request,
      context,
      deadline,
      app,
      cwd: project,
      writable: [tools, cache, dirname(program)],
      searchPath: [],
      tools: [],
      environment: {
        ...buildEnvironment,
        ...given,
        ...(request.clearCache ? { RAILPACK_DISABLE_CACHES: '*' } : {}),
        ...own,
      },
    });
    await commands.run('railpack build');
    return archive;
  } catch (error) {
    if (!(error instanceof BuildError) || relay.fault === null) throw error;
    throw new Error(
      `BUILDKIT_HOST=${buildkitHost}: BuildKit does not answer (${relay.fault.message}); start it, or unset BUILDKIT_HOST`,
    );
  } finally {
    relay.close();
  }
}

/** Variables are passed by name, because arguments are visible in a list of processes. */
function railpackArguments({ request, name, startCommand, cacheKey }: RailpackBuild, variables: string[]): string[] {
  const buildCommand = request.configuration.buildCommand.trim();
  return [
    ...['--name', name, '--progress', 'plain', '--cache-key', cacheKey, '--error-missing-start'],
    ...(request.clearCache ? ['--no-cache'] : []),
    ...(buildCommand === '' ? [] : [`--build-cmd=${buildCommand}`]),
    ...(startCommand === null ? [] : [`--start-cmd=${startCommand}`]),
    ...variables.flatMap((variable) => ['--env', variable]),
    '.',
  ];
}

function writeScript(path: string, ...lines: string[]): Promise<void> {
  return writeFile(path, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
}
