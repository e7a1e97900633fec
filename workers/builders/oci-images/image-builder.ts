import { chown, lstat, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import type { Config } from '../../../shared/core/config.js';
import { unlessAbsent } from '../../../shared/core/exists.js';
import type { Logger } from '../../../shared/core/log.js';
import { parseImage } from '../../../shared/images/image-reference.js';
import type { BuiltImage } from '../../../shared/images/model.js';
import type { RegistryAccount } from '../../docker/registry-accounts.js';
import { BuildError, ImageUnavailableError } from '../../failures/explained-errors.js';
import { PullError } from '../../failures/pull-error.js';
import type { Sandbox, SandboxSpec } from '../../sandbox/sandbox.js';
import { firstImageUser } from '../../sandbox/service-users.js';
import { hostPolicy, refusePrivateHost } from '../../sources/checked-remote.js';
import type { BuildFolder } from '../build-folder.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import { accountsOf, type FindAccount, requestedImage } from '../dockerfile/requested-image.js';
import { usedMb } from '../files/folder-size.js';
import type { FolderImageStore } from '../result/folder-image-store.js';
import { buildSandbox, failure, storageMb } from '../steps/build-commands.js';
import type { TimeLimit } from '../steps/build-time-limit.js';
import { CommandOutput } from '../steps/command-output.js';
import { manifestOf, type UnpackedConfig } from './image-manifest.js';
import { configOf, digestOf, type Healthcheck, type ImageConfig } from './oci-layout.js';
import type { RegistryClient } from './registry-client.js';

/** The file next to an unpacked image, with the image's configuration and its size in MB. */
const IMAGE_FILE = 'image.json';
const GRACE_MS = 2000;
const MAX_VOLUMES = 100;
/** Does not use `umoci unpack`, which would read each file again for a list of digests. */
export const UNPACK_LAYOUT = `mkdir bundle
umoci raw unpack --image layout:image bundle/rootfs
umoci raw runtime-config --image layout:image --rootfs bundle/rootfs bundle/config.json`;

export interface ImageBuilderOptions {
  config: Pick<Config, 'dataDir' | 'buildEnvironment'>;
  log: Logger;
  sandbox: Sandbox;
  images: FolderImageStore;
  registry: RegistryClient;
  /** True if registries at private addresses are allowed (ALLOW_LOCAL_REPOSITORIES). */
  allowLocal: boolean;
  findAccount: FindAccount;
}

/** One build of an image that has its own root file system. */
export interface ImageTask {
  options: ImageBuilderOptions;
  request: BuildRequest;
  context: BuildContext;
  limit: TimeLimit;
  folder: BuildFolder;
}

/** Pulls the configured image, with the digest that the deployment recorded, and stores it. Throws `BuildError`. */
export async function adoptImage(task: ImageTask): Promise<BuiltImage> {
  const { options, request, context, limit, folder } = task;
  const { image, pinned } = requestedImage(request);
  await context.log(`Pulls ${pinned}`);
  const layout = join(folder.path, 'layout');
  const accounts = await accountsOf(request, options.findAccount);
  const account = accounts.get(image.registry);
  await limit.within('pulling the image', () => pull(task, pinned, layout, account));
  const unpack = async (directory: string) => {
    await rename(layout, join(directory, 'layout'));
    await runImageTools(task, directory, `set -e\n${UNPACK_LAYOUT}`, { what: 'unpacking the image' });
    const config = JSON.parse(await options.registry.config(pinned, account, limit.signal)) as ImageConfig;
    return config.config?.Healthcheck ?? null;
  };
  return limit.within('storing the image', async () => {
    return storeImage(task, { digest: await digestOf(layout), runtime: 'image', unpack });
  });
}

/** Copies an image from its registry into a new OCI layout. Throws `ImageUnavailableError` or `SourceError`. */
export async function pull(
  { options, limit }: Pick<ImageTask, 'limit'> & { options: Pick<ImageBuilderOptions, 'registry' | 'allowLocal'> },
  name: string,
  layout: string,
  account: RegistryAccount | undefined,
): Promise<void> {
  if (account === undefined) {
    await refusePrivateHost(parseImage(name)?.registry ?? '', hostPolicy(options.allowLocal));
  }
  await options.registry.copy(name, layout, account, limit.signal).catch((error: unknown) => {
    throw error instanceof PullError ? new ImageUnavailableError(error.message) : error;
  });
}

interface ToolRun extends Pick<Partial<SandboxSpec>, 'writable' | 'tools' | 'env'> {
  /** What the command does, for error messages. */
  what: string;
  /** Returns a clearer error message than the last line of output; null if there is none. */
  explain?: (cause: string) => string | null;
}

/** Runs a shell command with the image tools, as root of a user namespace. Throws `BuildError` if it fails. */
export async function runImageTools(
  { options, request, context, limit }: ImageTask,
  directory: string,
  command: string,
  { what, explain, env = {}, ...folders }: ToolRun,
): Promise<void> {
  // Changes the owner of the folder, but not of its files: they may be hard links to the shared store of layers.
  await chown(directory, firstImageUser(), firstImageUser());
  const output = new CommandOutput(context);
  const spec = { ...buildSandbox(request, directory, 0), ...folders, command, cwd: '', env, imageTools: true as const };
  const outcome = await options.sandbox.run(spec, {
    signal: limit.signal,
    timeoutMs: Math.max(1, limit.deadline - Date.now()),
    graceMs: GRACE_MS,
    onLine: (line) => output.write(line),
    ...(context.masker ? { cutter: context.masker } : {}),
  });
  await output.close();
  context.signal.throwIfAborted();
  if (outcome.reason === 'exited' && outcome.exitCode === 0) return;
  const cause = output.cause();
  throw new BuildError(explain?.(cause) ?? `${what} ${failure(outcome, request, cause)}`);
}

interface Unpacking {
  digest: string;
  runtime: string;
  /**
   * Writes the OCI layout to `layout` and the files to `bundle`. Returns the HEALTHCHECK, which the layout may lack.
   */
  unpack: (directory: string) => Promise<Healthcheck | null>;
}

/** Stores an unpacked image, unless this host has one with its digest. Throws `BuildError` if it is too large. */
export async function storeImage(task: ImageTask, { digest, runtime, unpack }: Unpacking): Promise<BuiltImage> {
  const { options, folder } = task;
  const known = await options.images.use(digest);
  if (known !== null) return describe(task, known, { digest, runtime });
  const directory = join(folder.path, 'unpacked');
  await mkdir(directory, { mode: 0o700 });
  const healthcheck = await unpack(directory);
  const bundle = join(directory, 'bundle');
  const image = await configOf(join(directory, 'layout'));
  image.config = { ...image.config, Healthcheck: healthcheck };
  await makeVolumes(join(bundle, 'rootfs'), Object.keys(image.config?.Volumes ?? {}));
  const sizeMb = await usedMb(join(bundle, 'rootfs'));
  await writeFile(join(bundle, IMAGE_FILE), JSON.stringify({ ...image, sizeMb }));
  const built = await describe(task, bundle, { digest, runtime });
  await options.images.putBundle(bundle, digest);
  return built;
}

/** Creates the folders that VOLUME names, as container engines do. Skips a path that contains a link or a file. */
async function makeVolumes(rootfs: string, volumes: string[]): Promise<void> {
  for (const volume of volumes.slice(0, MAX_VOLUMES)) {
    let path = rootfs;
    for (const name of normalize(`/${volume}`).split('/').filter(Boolean)) {
      path = join(path, name);
      const found = await unlessAbsent(lstat(path));
      if (found === null) {
        await mkdir(path, { mode: 0o755 });
        await chown(path, firstImageUser(), firstImageUser());
      } else if (!found.isDirectory()) break;
    }
  }
}

async function describe(
  { request }: ImageTask,
  bundle: string,
  { digest, runtime }: Pick<Unpacking, 'digest' | 'runtime'>,
): Promise<BuiltImage> {
  const [unpacked, image] = await Promise.all(
    ['config.json', IMAGE_FILE].map(async (name) => JSON.parse(await readFile(join(bundle, name), 'utf8'))),
  );
  // Deployments of earlier versions of the platform have no `startArguments`.
  const { startCommand, startArguments = [] } = request.configuration;
  const starts = { startCommand: startCommand.trim(), startArguments };
  const manifest = manifestOf(image as ImageConfig, unpacked as UnpackedConfig, { runtime, ...starts });
  const limitMb = storageMb(request);
  // Images that earlier versions of the platform stored have no size.
  const sizeMb: number | null = image.sizeMb === undefined ? await usedMb(join(bundle, 'rootfs')) : image.sizeMb;
  if (sizeMb === null) throw new BuildError('the image has too many files; remove what it does not need');
  if (sizeMb > limitMb) {
    throw new BuildError(
      `the image has ${sizeMb} MB, and the plan allows ${limitMb} MB; make it smaller or choose a larger plan`,
    );
  }
  return { digest, sizeBytes: sizeMb * 1024 ** 2, manifest };
}
