import { chown, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../shared/core/config.js';
import type { Logger } from '../../../shared/core/log.js';
import type { BuiltImage } from '../../../shared/images/model.js';
import { parseImage } from '../../../shared/images/reference.js';
import type { RegistryAccount } from '../../docker/registry.js';
import { BuildError } from '../../failures/explained.js';
import { PullError } from '../../failures/pull-error.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { firstImageUser } from '../../sandbox/service-users.js';
import { failure, firstSandbox, storageMb } from '../build-commands.js';
import type { BuildFolder } from '../build-folder.js';
import { CommandOutput } from '../build-log.js';
import type { TimeLimit } from '../build-time-limit.js';
import type { BuildContext, BuildRequest } from '../builder.js';
import type { LocalImageStore } from '../folder-image-store.js';
import { usedMb } from '../folder-size.js';
import { manifestOf, type UnpackedConfig } from './image-process.js';
import { configOf, digestOf } from './layout.js';
import type { RegistryClient } from './registry-client.js';

export interface ImageBuilderOptions {
  config: Pick<Config, 'dataDir' | 'buildEnvironment'>;
  log: Logger;
  sandbox: Sandbox;
  images: LocalImageStore;
  registry: RegistryClient;
  /** ALLOW_LOCAL_REPOSITORIES: registries at private addresses are allowed. */
  allowLocal: boolean;
  /** The account of a workspace's `registryId`; null if there is none. */
  findAccount: (workspaceId: string, registryId: string) => Promise<RegistryAccount | null>;
}

/** One build of an image with a root file system of its own. */
export interface ImageTask {
  options: ImageBuilderOptions;
  request: BuildRequest;
  context: BuildContext;
  limit: TimeLimit;
  folder: BuildFolder;
}

/** Takes over the image that the configuration names, with the digest of the deployment. Throws `BuildError`. */
export async function adoptImage(task: ImageTask): Promise<BuiltImage> {
  const { options, request, context, limit, folder } = task;
  const image = parseImage(request.configuration.image);
  if (image === null || !/^[0-9a-f]{64}$/.test(request.commitSha)) {
    throw new BuildError(`"${request.configuration.image}" is not the name of an image; correct configuration.image`);
  }
  const pinned = `${image.name}@sha256:${request.commitSha}`;
  await context.log(`Pulls ${pinned}`);
  const layout = join(folder.app, 'layout');
  const account = await accountOf(task);
  const own = account?.serveraddress === image.registry ? account : undefined;
  await limit.within('pulling the image', () => pull(task, pinned, layout, own));
  const known = await options.images.use(await digestOf(layout));
  if (known !== null) return describe(task, { bundle: known, layout, runtime: 'image' });
  await runImageTools(task, 'umoci unpack --image layout:image bundle', 'unpacking the image');
  return keepBundle(task, layout, 'image');
}

/** The account that the configuration names; undefined if it names none. Throws `BuildError` if there is no such account. */
export async function accountOf({ options, request }: ImageTask): Promise<RegistryAccount | undefined> {
  const { registryId } = request.configuration;
  if (registryId === '') return undefined;
  const account = await options.findAccount(request.workspaceId, registryId);
  if (account === null) {
    throw new BuildError('registryId names no registry of the workspace; name an existing one, or none');
  }
  return account;
}

/** Copies an image into a new layout. Throws `BuildError`. */
export async function pull(
  { options, limit }: ImageTask,
  name: string,
  layout: string,
  account: RegistryAccount | undefined,
): Promise<void> {
  await options.registry.copy(name, layout, account, limit.signal).catch((error: unknown) => {
    throw error instanceof PullError ? new BuildError(error.message) : error;
  });
}

/**
 * Runs a command of the programs for images. It works in the build's folder as the root of a user namespace, in the network and within the
 * limits of the build. Throws `BuildError` if it fails.
 */
export async function runImageTools(
  { options, request, context, limit, folder }: ImageTask,
  command: string,
  what: string,
  more: { writable?: string[]; tools?: string[]; env?: Record<string, string> } = {},
): Promise<void> {
  // The folder alone: what is in it may have links in the store of layers.
  await chown(folder.app, firstImageUser(), firstImageUser());
  const output = new CommandOutput(context);
  const { writable = [], tools = [], env = {} } = more;
  const spec = {
    ...firstSandbox(request, folder.app),
    command,
    cwd: '',
    env,
    writable,
    tools,
    imageTools: true as const,
  };
  const outcome = await options.sandbox.run(spec, {
    signal: limit.signal,
    timeoutMs: Math.max(1, limit.deadline - Date.now()),
    graceMs: 2000,
    onLine: (line) => output.write(line),
    ...(context.masker ? { cutter: context.masker } : {}),
  });
  await output.close();
  context.signal.throwIfAborted();
  if (outcome.reason === 'exited' && outcome.exitCode === 0) return;
  throw new BuildError(`${what} ${failure(outcome, request, output.cause())}`);
}

/** Stores the image of a layout, which is unpacked in `bundle` of the build's folder. Throws `BuildError` if it is too large or cannot start. */
export async function keepBundle(task: ImageTask, layout: string, runtime: string): Promise<BuiltImage> {
  const bundle = join(task.folder.app, 'bundle');
  const built = await describe(task, { bundle, layout, runtime });
  const limitMb = storageMb(task.request);
  const sizeMb = Math.ceil(built.sizeBytes / 1024 ** 2);
  if (sizeMb > limitMb) {
    throw new BuildError(
      `the image has ${sizeMb} MB, and the plan allows ${limitMb} MB; make it smaller or choose a larger plan`,
    );
  }
  await task.options.images.putBundle(bundle, built.digest);
  return built;
}

async function describe(
  { request }: ImageTask,
  { bundle, layout, runtime }: { bundle: string; layout: string; runtime: string },
): Promise<BuiltImage> {
  const unpacked: UnpackedConfig = JSON.parse(await readFile(join(bundle, 'config.json'), 'utf8'));
  const startCommand = request.configuration.startCommand.trim();
  const manifest = manifestOf(await configOf(layout), unpacked, { runtime, startCommand });
  const megabytes = await usedMb(join(bundle, 'rootfs'));
  if (megabytes === null) throw new BuildError('the image has too many files; remove what it does not need');
  return { digest: await digestOf(layout), sizeBytes: megabytes * 1024 ** 2, manifest };
}
