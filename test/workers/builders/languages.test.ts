import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import type { Builder } from '../../../workers/builders/builder.js';
import { createRepositoryBuilder } from '../../../workers/builders/repository-builder.js';
import { FolderImageStore } from '../../../workers/builders/result/folder-image-store.js';
import { createToolchains } from '../../../workers/builders/toolchains/toolchain-store.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { GitSource } from '../../../workers/sources/git-source.js';
import { BUILD_ENVIRONMENT } from '../../support/npm-registry.js';
import { eventually, freePorts } from '../../support/processes.js';
import { type PythonIndex, startPythonIndex } from '../../support/python-index.js';
import { createRepository, hasGit, type TestRepository } from '../../support/repositories.js';
import { ELIXIR_SAMPLES } from './languages/elixir.js';
import { GO_SAMPLES } from './languages/go.js';
import { JAVA_SAMPLES } from './languages/java.js';
import { PHP_SAMPLES } from './languages/php.js';
import { PYTHON_SAMPLES } from './languages/python.js';
import { RUBY_SAMPLES } from './languages/ruby.js';
import { RUST_SAMPLES } from './languages/rust.js';
import type { Sample } from './languages/sample.js';
import { SHELL_SAMPLES } from './languages/shell.js';

const SAMPLES: readonly Sample[] = [
  ...GO_SAMPLES,
  ...RUST_SAMPLES,
  ...RUBY_SAMPLES,
  ...PHP_SAMPLES,
  ...ELIXIR_SAMPLES,
  ...JAVA_SAMPLES,
  ...PYTHON_SAMPLES,
  ...SHELL_SAMPLES,
];
const log = createLogger('test', 'silent');
const TAKEN_OVER = 'The dependencies are those of the last build: nothing that decides them has changed';
const hasProgram = (name: string) => ['/usr/bin', '/bin', '/usr/sbin'].some((folder) => existsSync(join(folder, name)));

describe(`Projects of every language${hasGit ? '' : ': git is not installed'}`, function () {
  this.timeout(240_000);
  let root: string;
  let dataDir: string;
  let sandbox: Sandbox;
  let images: FolderImageStore;
  let builder: Builder;
  let index: PythonIndex | null = null;
  let number = 0;

  before(async function () {
    if (!hasGit) this.skip();
    root = await mkdtemp(join(tmpdir(), 'ranvier-languages-'));
    dataDir = join(root, 'data');
    await mkdir(dataDir, { mode: 0o711 });
    sandbox = await createSandbox({ log, dataDir });
    images = new FolderImageStore({ dataDir, log });
    if (hasProgram('pip3')) index = await startPythonIndex(['1.0', '1.1', '1.2']);
    const buildEnvironment = { ...BUILD_ENVIRONMENT, ...(index === null ? {} : { PIP_INDEX_URL: index.url }) };
    const config = { dataDir, allowLocalRepositories: true, buildEnvironment };
    const source = new GitSource({ config, log });
    const toolchains = createToolchains({ dataDir, buildEnvironment, log });
    builder = createRepositoryBuilder({ config, log, sandbox, source, images, toolchains });
  });
  after(async () => {
    await index?.stop();
    if (root) await rm(root, { recursive: true, force: true });
  });

  async function build(repository: TestRepository, { configuration = {} }: Sample) {
    const lines: string[] = [];
    const image = await builder
      .build(
        {
          id: `language${process.pid}-${number}-${Date.now()}`,
          workspaceId: 'w',
          serviceId: `service-${number}`,
          environmentId: null,
          userNumber: 8000 + number,
          kind: 'web',
          configuration: { ...DEFAULT_CONFIGURATION, ...configuration },
          repository: repository.url,
          commitSha: await repository.git('rev-parse', 'HEAD'),
          clearCache: false,
          environment: {},
        },
        { signal: new AbortController().signal, log: async (line) => void lines.push(line) },
      )
      .catch((error: Error) => {
        throw new Error(`${error.message}\n${lines.join('\n')}`);
      });
    return { ...image, lines };
  }

  /** Runs the application as a replica would, and returns its answer. */
  async function answerOf({ digest, manifest }: Awaited<ReturnType<typeof build>>, expected: string): Promise<string> {
    const [port = 0] = await freePorts(1);
    const id = `language-${number}`;
    const directory = await mkdtemp(join(dataDir, 'run-'));
    const files = { logFile: join(root, `${id}.log`), exitFile: join(root, `${id}.exit`) };
    const running = await sandbox.start(
      {
        id,
        command: manifest.startCommand,
        directory,
        image: images.pathOf(digest),
        cwd: manifest.workingDirectory,
        env: { ...manifest.environment, PORT: String(port) },
        userNumber: 8000 + number,
        limits: { memoryMb: 512, cpu: 2, pids: 256 },
      },
      files,
    );
    try {
      let last = '';
      await eventually('it answers', async () => {
        last = await fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.text());
        return last.trim() === expected;
      }).catch(async (error: Error) => {
        throw new Error(`${error.message}; it said: ${await readFile(files.logFile, 'utf8')}`);
      });
      return last.trim();
    } finally {
      await sandbox.stop(id, running, 2_000);
      await rm(directory, { recursive: true, force: true });
    }
  }

  for (const sample of SAMPLES) {
    it(`${sample.name}${hasProgram(sample.needs) ? '' : ` (needs ${sample.needs})`}`, async function () {
      if (!hasProgram(sample.needs)) this.skip();
      number += 1;
      const repository = await createRepository(sample.files);
      try {
        const image = await build(repository, sample);
        expect(await answerOf(image, sample.expects.body)).to.equal(sample.expects.body);
        if (sample.keeps === true) {
          await repository.commit('Change what decides nothing', { 'README.md': 'Changed' });
          expect((await build(repository, sample)).lines).to.include(TAKEN_OVER);
        }
      } finally {
        await repository.remove();
      }
    });
  }
});
