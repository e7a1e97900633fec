import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLogger } from '../../../../shared/core/log.js';
import { Sensitive } from '../../../../shared/core/sensitive.js';
import type { BuiltImage } from '../../../../shared/images/model.js';
import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../../../../shared/services/configuration.js';
import type { Builder, BuildRequest } from '../../../../workers/builders/builder.js';
import { packContext } from '../../../../workers/builders/engine-images/build-context.js';
import { followBuild } from '../../../../workers/builders/engine-images/build-stream.js';
import { createContainerBuilder } from '../../../../workers/builders/engine-images/container-builder.js';
import { cacheNamespace } from '../../../../workers/builders/engine-images/engine-build.js';
import { EngineImageStore } from '../../../../workers/builders/engine-images/engine-image-store.js';
import type { Railpack } from '../../../../workers/builders/engine-images/railpack.js';
import { createToolchains } from '../../../../workers/builders/toolchains/toolchain-store.js';
import { connectEngine, type Engine } from '../../../../workers/docker/docker-engine.js';
import { resolveDigest } from '../../../../workers/docker/pull-image.js';
import type { RegistryAccount } from '../../../../workers/docker/registry-accounts.js';
import { registryOf } from '../../../../workers/docker/registry-accounts.js';
import { createSandbox } from '../../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../../workers/sandbox/sandbox.js';
import { createOriginResolver, type OriginResolver } from '../../../../workers/sources/deployment-origin.js';
import { GitSource } from '../../../../workers/sources/git-source.js';
import { DockerMachines, type DockerNode, NODE_IMAGE } from '../../../support/docker.js';
import { createRepository, type Files, type TestRepository } from '../../../support/repositories.js';

const run = promisify(execFile);
const log = createLogger('test', 'silent');

const SECRETS_KEY = new Sensitive(Buffer.alloc(32, 7).toString('base64'));

/** `NODE_IMAGE` with npm and all programs of busybox. */
const NPM_IMAGE = 'local/node-npm:latest';

/** An image with only a shell, which is pushed quickly. */
export const TINY_IMAGE = 'local/tiny:latest';

export interface Wanted {
  files?: Files;
  configuration?: Partial<ServiceConfiguration>;
  request?: Partial<BuildRequest>;
  registryUrl?: string;
  buildEnvironment?: Record<string, string>;
  baseImages?: Record<string, string>;
  account?: RegistryAccount;
  railpack?: Railpack;
  signal?: AbortSignal;
  onLog?: (line: string) => Promise<void> | void;
}

export interface Built extends BuiltImage {
  lines: string[];
  output: string;
  reference: string;
}

/** A Docker engine, and builders that use it. */
export class BuildFixture {
  readonly machines: DockerMachines;
  readonly node: DockerNode;
  readonly engine: Engine;
  readonly folder: string;
  readonly dataDir: string;
  readonly sandbox: Sandbox;
  readonly #repositories: TestRepository[] = [];
  #number = 0;

  private constructor(machines: DockerMachines, node: DockerNode, folder: string, sandbox: Sandbox) {
    this.machines = machines;
    this.node = node;
    this.folder = folder;
    this.dataDir = join(folder, 'data');
    this.sandbox = sandbox;
    this.engine = connectEngine({ docker: { host: node.host, registryUrl: null } });
  }

  static async open(): Promise<BuildFixture> {
    const machines = await DockerMachines.create();
    try {
      const node = await machines.addNode();
      await node.importNode();
      await node.derive(TINY_IMAGE, ['COPY --from=local/node:latest /bin/ /bin/', 'ENV PATH=/bin'], 'scratch');
      const folder = await mkdtemp(join(tmpdir(), 'ranvier-images-'));
      const dataDir = join(folder, 'data');
      await mkdir(dataDir, { mode: 0o711 });
      return new BuildFixture(machines, node, folder, await createSandbox({ log, dataDir }));
    } catch (error) {
      await machines.destroy();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const repository of this.#repositories) await repository.remove();
    await this.machines.destroy();
    await rm(this.folder, { recursive: true, force: true });
  }

  async importNpm(): Promise<void> {
    const { stdout } = await run('/bin/sh', ['-c', 'command -v npm']);
    const npm = join(await realpath(stdout.trim()), '../..');
    const dockerfile = [
      `FROM ${NODE_IMAGE}`,
      'RUN ["/bin/busybox", "--install", "-s", "/bin"]',
      'COPY npm /usr/local/lib/node_modules/npm',
      'RUN mkdir -p /usr/bin && ln -s /bin/env /usr/bin/env && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
    ].join('\n');
    const context = packContext({ folders: [{ at: 'npm', path: npm }], files: { Dockerfile: dockerfile } });
    const stream = await this.node.docker.buildImage(context, { t: NPM_IMAGE });
    const { error } = await followBuild(stream as AsyncIterable<Buffer>, { onLine: async () => {} });
    if (error !== null) throw new Error(error);
  }

  cacheNamespace(serviceId: string): string {
    return cacheNamespace(SECRETS_KEY, serviceId);
  }

  origins(account: RegistryAccount | null): OriginResolver {
    const config = { dataDir: this.dataDir, allowLocalRepositories: true, buildEnvironment: {} };
    return createOriginResolver({
      source: new GitSource({ config, log }),
      policy: { allowLocal: true, ownPrefix: null },
      images: {
        resolveDigest: (name, found) => resolveDigest(this.engine, name, found),
        findAccount: async () => account,
      },
    });
  }

  images(registryUrl?: string, installationId = 'ours', now?: () => number): EngineImageStore {
    const config = { docker: { host: '', registryUrl: registryUrl === undefined ? null : new Sensitive(registryUrl) } };
    return new EngineImageStore({ engine: this.engine, registry: registryOf(config), installationId, log, now });
  }

  builder({ registryUrl, buildEnvironment = {}, baseImages = {}, account, railpack }: Wanted): Builder {
    const config = {
      dataDir: this.dataDir,
      allowLocalRepositories: true,
      buildEnvironment,
      baseImages: { node: NPM_IMAGE, auto: NPM_IMAGE, ...baseImages },
      secretsKey: SECRETS_KEY,
    };
    return createContainerBuilder({
      config,
      log,
      engine: this.engine,
      railpack: railpack ?? null,
      sandbox: this.sandbox,
      source: new GitSource({ config, log }),
      images: this.images(registryUrl),
      sites: { build: () => Promise.reject(new Error('this is a site')), sweep: async () => 0 },
      findAccount: async () => account ?? null,
      toolchains: createToolchains({ dataDir: this.dataDir, buildEnvironment, log }),
    });
  }

  async repository(files: Files): Promise<TestRepository> {
    const repository = await createRepository(files);
    this.#repositories.push(repository);
    return repository;
  }

  async build(wanted: Wanted): Promise<Built> {
    const { files, configuration = {}, request = {}, signal, onLog } = wanted;
    const lines: string[] = [];
    const repository = files === undefined ? null : await this.repository(files);
    this.#number += 1;
    const image = await this.builder(wanted).build(
      {
        id: `test${process.pid}-${this.#number}`,
        workspaceId: 'w',
        serviceId: `service-${this.#number}`,
        environmentId: null,
        userNumber: 1,
        kind: 'web',
        configuration: { ...DEFAULT_CONFIGURATION, ...configuration },
        repository: repository?.url ?? '',
        commitSha: repository === null ? '' : await repository.git('rev-parse', 'HEAD'),
        clearCache: false,
        environment: {},
        ...request,
      },
      {
        signal: signal ?? new AbortController().signal,
        log: async (line) => {
          lines.push(line);
          await onLog?.(line);
        },
      },
    );
    return { ...image, lines, output: lines.join('\n'), reference: image.manifest.reference ?? '' };
  }

  async failure(wanted: Wanted): Promise<Error & { lines: string[] }> {
    const lines: string[] = [];
    const onLog = async (line: string) => {
      lines.push(line);
      await wanted.onLog?.(line);
    };
    const built = this.build({ ...wanted, onLog });
    const error = await built.then(
      () => new Error('it was built'),
      (reason: unknown) => (reason instanceof Error ? reason : new Error(String(reason))),
    );
    return Object.assign(error, { lines });
  }

  async run(image: string, command?: string): Promise<string> {
    const container = await this.node.docker.createContainer({
      Image: image,
      ...(command === undefined ? {} : { Cmd: ['/bin/sh', '-c', command] }),
    });
    await container.start();
    await container.wait();
    const output = await container.logs({ stdout: true, stderr: true });
    await container.remove();
    // Docker puts a header of eight bytes before each chunk of output.
    const pieces: Buffer[] = [];
    for (let at = 0; at < output.length; at += 8 + output.readUInt32BE(at + 4)) {
      pieces.push(output.subarray(at + 8, at + 8 + output.readUInt32BE(at + 4)));
    }
    return Buffer.concat(pieces).toString().trim();
  }

  async processes(): Promise<string> {
    const { stdout } = await run('/bin/sh', ['-c', 'ps -eo args']);
    return stdout;
  }
}
