import { quote } from '../../core/quote.js';
import { BuildError } from '../../failures/explained-errors.js';
import { PREDEFINED_ARGUMENT } from '../dockerfile/read-dockerfile.js';
import type { BuildPlan } from '../plan/plan-model.js';
import { keptName } from '../toolchains/framework-caches.js';
import { type PackagedName, packageOf, type ToolVersion } from '../toolchains/tool-packages.js';

export interface DockerfileInput {
  plan: BuildPlan;
  /** The tools to install, in these versions, even if the base image contains other versions. */
  tools: readonly ToolVersion<PackagedName>[];
  /** Runtime → base image. `auto` is used for projects without a known language, and to run compiled programs. */
  baseImages: Readonly<Record<string, string>>;
  /** Names of the variables that the build may see. Their values are given as build arguments. */
  variables: readonly string[];
  /** True if the build context has a folder `certificates`. */
  certificates: boolean;
  /** The prefix of this service's caches on the engine; null if the builder cannot keep caches. */
  cacheName: string | null;
  port: number;
  /** Labels of the build stage. By these labels, a sweep finds the images of this stage that the engine keeps. */
  labels: Readonly<Record<string, string>>;
}

/** Paths in a container. In the build context, the repository's files are below `app/`. */
const APP = '/app';
export const CERTIFICATES = '/opt/ranvier/certificates';
const TOOLS = '/opt/ranvier/tools';
const CACHES = '/opt/ranvier/caches';
/** The id of the user in generated images. No base image has a user with this id. */
const USER = 10001;

/**
 * Writes the Dockerfile for a build plan. Only the build stage has arguments, so that they are not in the image's
 * history. Manifests are copied first, so that the engine reuses the layer of unchanged dependencies. Throws
 * `BuildError`.
 */
export function writeDockerfile(input: DockerfileInput): string {
  return [...buildStage(input), '', ...finalStage(input), ''].join('\n');
}

/** Returns the build arguments that tell tools where a plan's caches are in the container. */
export function cacheVariables({ caches }: Pick<BuildPlan, 'caches'>): Record<string, string> {
  return Object.fromEntries(Object.entries(caches).map(([name, folder]) => [name, `${CACHES}/${folder}`]));
}

/** Returns a Dockerfile that empties the caches that `writeDockerfile` mounts; null if there are none. */
export function writeCacheCleaner({ plan, baseImages, cacheName }: DockerfileInput): string | null {
  const mounts = cacheMounts({ ...plan, caches: { ...plan.caches, ...keptCaches(plan) } }, cacheName);
  if (mounts.length === 0) return null;
  const image = baseImage(baseImages, plan.runtime);
  return `FROM ${image}\n${run(mounts, `rm -rf ${CACHES}/*/* ${CACHES}/*/.[!.]*`)}\n`;
}

function buildStage(input: DockerfileInput): string[] {
  const { plan, variables, certificates, cacheName, labels, tools } = input;
  const mounts = cacheMounts(plan, cacheName);
  const { folders } = plan;
  const [folder, buildFolder] = [projectFolder(folders.install), projectFolder(folders.build)];
  const everything = `COPY ["app/", "${APP}/"]`;
  const copied = plan.manifests?.map((name) => contextPath(folders.install, name)) ?? null;
  const install = plan.install.map((command) => run(mounts, `export NODE_ENV=development; ${command}`));
  const declared = variables.filter((name) => !PREDEFINED_ARGUMENT.test(name));
  return [
    `FROM ${baseImage(input.baseImages, plan.runtime)} AS build`,
    `LABEL ${Object.entries(labels)
      .map(([name, value]) => `${name}=${quoted(value)}`)
      .join(' ')}`,
    ...(declared.length > 0 ? [`ARG ${declared.join(' ')}`] : []),
    ...(certificates ? [`COPY ["certificates/", "${CERTIFICATES}/"]`] : []),
    `ENV PATH=${searchPath(folder, input)}`,
    `WORKDIR ${escaped(folder)}`,
    ...(tools.length > 0 ? [run(mounts, installTools(tools))] : []),
    ...(copied === null || install.length === 0
      ? [everything, ...install]
      : [`COPY ${JSON.stringify([...copied, './'])}`, ...install, everything]),
    ...(buildFolder === folder ? [] : [`WORKDIR ${escaped(buildFolder)}`]),
    ...[...(plan.prepare ?? []), ...plan.build].map((command) => run([...mounts, ...keptMounts(input)], command)),
  ];
}

function finalStage(input: DockerfileInput): string[] {
  const { plan, baseImages, port } = input;
  const folder = projectFolder(plan.folders.project);
  const environment = Object.entries(plan.environment).map(([name, value]) => `${name}=${quoted(value)} `);
  const user = [
    `echo 'app:x:${USER}:${USER}::/tmp:/bin/sh' >>/etc/passwd`,
    `echo 'app:x:${USER}:' >>/etc/group`,
    `mkdir -p ${APP}`,
    `chown ${USER}:${USER} ${APP}`,
  ];
  return [
    `FROM ${baseImage(baseImages, plan.runtime === 'go' ? 'auto' : plan.runtime)}`,
    run([], user.join(' && ')),
    ...(input.tools.length > 0 ? [`COPY --from=build ["${TOOLS}/", "${TOOLS}/"]`] : []),
    `COPY --from=build --chown=${USER}:${USER} ["${APP}/", "${APP}/"]`,
    `ENV ${environment.join('')}PATH=${searchPath(folder, input)}`,
    `WORKDIR ${escaped(folder)}`,
    `USER ${USER}:${USER}`,
    `EXPOSE ${port}`,
    `CMD ${JSON.stringify(['/bin/sh', '-c', startInContainer(plan)])}`,
  ];
}

/** Returns a shell script that chooses between start commands by the files that the build wrote. */
export function startInContainer({ starts, startCommand }: Pick<BuildPlan, 'starts' | 'startCommand'>): string {
  const choices = starts.slice(1).some(({ needs }) => needs !== starts[0]?.needs) ? starts : [];
  const tests = choices.flatMap(({ command, needs }) => {
    if (needs === null) return [`exec ${inShell(command)}`];
    const paths = ['', '.js', '.cjs', '.mjs'].map((end) => `[ -e ${quote(needs + end)} ]`);
    return [`if ${paths.join(' || ')}; then exec ${inShell(command)}; fi`];
  });
  return [...tests, startCommand].join('\n');
}

function inShell(command: string): string {
  return `/bin/sh -c ${quote(command)}`;
}

/**
 * Returns a shell command that installs tools below TOOLS. Node.js is installed last, because the base image's npm may
 * not run on the new version. The binaries are for the processor of the engine's host, which may differ from the
 * worker's.
 */
function installTools(tools: readonly ToolVersion<PackagedName>[]): string {
  const npm = 'npm install --ignore-scripts --no-audit --no-fund --no-save --no-package-lock';
  const commands = [...tools.filter(({ name }) => name !== 'node'), ...tools.filter(({ name }) => name === 'node')].map(
    (tool) => {
      const { name, programs } = packageOf(tool, { platform: 'linux', arch: '$ARCH', avx2: true });
      // The shell variable BUN selects the package for the processor; on x64, the baseline build, which needs no AVX2.
      const wanted = tool.name === 'bun' ? '@oven/bun-linux-$BUN' : name;
      if (programs === null) return `${npm} --global --prefix ${TOOLS} "${wanted}@${tool.version}"`;
      const links = Object.entries(programs).map(
        ([command, file]) => `ln -sf "../${tool.name}/node_modules/${wanted}/${file}" ${TOOLS}/bin/${command}`,
      );
      return [`${npm} --prefix ${TOOLS}/${tool.name} "${wanted}@${tool.version}"`, ...links].join(' && ');
    },
  );
  const machine = `ARCH=$(node -p process.arch) && BUN=$(node -p "process.arch === 'arm64' ? 'aarch64' : 'x64-baseline'")`;
  return [`mkdir -p ${TOOLS}/bin`, machine, ...commands].join(' && ');
}

/** Returns a RUN instruction in JSON form, so that no line of a tenant's command is read as an instruction. */
function run(flags: readonly string[], command: string): string {
  return `RUN ${[...flags, JSON.stringify(['/bin/sh', '-c', command])].join(' ')}`;
}

/** Returns cache mounts for the folders that frameworks keep between builds. */
function keptMounts({ plan, cacheName }: DockerfileInput): string[] {
  const folder = projectFolder(plan.folders.build);
  // Some paths cannot be quoted in the options of an instruction.
  if (cacheName === null || !/^[\w./-]+$/.test(folder)) return [];
  return plan.keptFolders.map(
    (kept) => `--mount=type=cache,id=${cacheName}-${keptName(kept)},target=${folder}/${kept},sharing=locked`,
  );
}

function keptCaches({ keptFolders }: BuildPlan): Record<string, string> {
  return Object.fromEntries(keptFolders.map((kept) => [kept, keptName(kept)]));
}

function cacheMounts({ caches }: Pick<BuildPlan, 'caches'>, cacheName: string | null): string[] {
  if (cacheName === null) return [];
  return [...new Set(Object.values(caches))].map(
    (folder) => `--mount=type=cache,id=${cacheName}-${folder},target=${CACHES}/${folder},sharing=locked`,
  );
}

function baseImage(baseImages: DockerfileInput['baseImages'], runtime: string): string {
  const image = baseImages[runtime];
  if (image === undefined) {
    throw new BuildError(`there is no base image for ${runtime}: name one in BASE_IMAGES, or add a Dockerfile`);
  }
  return image;
}

function projectFolder(project: string): string {
  if (/\p{Cc}/u.test(project))
    throw new BuildError(`rootDirectory ${JSON.stringify(project)} has control characters; rename the folder`);
  return project === '' ? APP : `${APP}/${project}`;
}

/** Escapes the special characters of a path, because COPY interprets names as patterns. */
function contextPath(project: string, name: string): string {
  return `app/${project === '' ? '' : `${project}/`}${name}`.replace(/[\\*?[\]]/g, '\\$&').replace(/\$/g, '\\$');
}

function searchPath(folder: string, input: DockerfileInput): string {
  const { plan, tools } = input;
  const folders = [
    ...plan.searchPath.map((path) => `${folder}/${path}`),
    ...(tools.length > 0 ? [`${TOOLS}/bin`] : []),
  ];
  if (folders.length === 0) return '$PATH';
  return `${quoted(`${folders.join(':')}:`).slice(0, -1)}$PATH"`;
}

function quoted(value: string): string {
  return `"${escaped(value)}"`;
}

/** Escapes a value with backslashes, so that the Dockerfile does not expand `$NAME` in it. */
function escaped(value: string): string {
  return value.replace(/["\\$]/g, '\\$&');
}
