import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { apiDocument } from '../../api/resources/api-document.js';
import { createSignInLink } from '../../shared/identity/sign-in.js';
import { nodeServer } from '../support/apps.js';
import { startPlatform } from '../support/platform.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/postgres.js';
import { MAIN_JOBS } from './main-jobs.js';

/** `npm run check:clients`: the tools take 130 MB, so they are installed into a temporary folder. */
const TOOLS = {
  '@hey-api/openapi-ts': '0.95.0',
  '@redocly/cli': '2.77.0',
  '@stoplight/spectral-cli': '6.16.3',
  '@types/node': '24.19.2',
  'openapi-fetch': '0.17.0',
  'openapi-typescript': '7.13.0',
  // The generators cannot use the version 7 with which the platform is built.
  typescript: '5.9.3',
};
const COMPILER = {
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  module: 'nodenext',
  target: 'es2024',
  types: ['node'],
  outDir: 'out',
};
const TIMEOUT_MS = 600_000;

const folder = await mkdtemp(join(tmpdir(), 'ranvier-clients-'));
let failures = 0;
try {
  await mkdir(join(folder, 'src'));
  await Promise.all([
    write('package.json', JSON.stringify({ type: 'module', private: true, dependencies: TOOLS })),
    write('document.json', JSON.stringify(apiDocument())),
    write('spectral.yaml', 'extends: ["spectral:oas"]\n'),
    write('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER, include: ['src'] })),
    ...Object.entries(MAIN_JOBS).map(([name, program]) => write(`src/${name}-job.ts`, program)),
  ]);
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund']);
  await step('Redocly recommended-strict', () =>
    tool('redocly', 'lint', 'document.json', '--extends=recommended-strict'),
  );
  await step('Spectral', () =>
    tool('spectral', 'lint', 'document.json', '--ruleset=spectral.yaml', '--fail-severity=hint'),
  );
  await step('the client of @hey-api/openapi-ts', () => tool('openapi-ts', '-i', 'document.json', '-o', 'src/hey-api'));
  await step('the client of openapi-typescript', () =>
    tool('openapi-typescript', 'document.json', '-o', 'src/openapi-typescript.d.ts'),
  );
  await step('the compilation of the main jobs', () => tool('tsc', '-p', 'tsconfig.json'));
  await doMainJobs();
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;

async function doMainJobs(): Promise<void> {
  await mochaGlobalSetup();
  try {
    const platform = await startPlatform({ engine: 'postgres' });
    try {
      const { client, database } = platform;
      const repository = await platform.repositoryOf(nodeServer('one'));
      for (const name of Object.keys(MAIN_JOBS)) {
        const env = {
          BASE_URL: new URL('/api', client.baseUrl).href,
          KEY: client.key,
          WORKSPACE_ID: client.workspaceId,
          TOKEN: await createSignInLink(database.db, 'owner@example.test'),
          REPOSITORY: repository.url,
        };
        await step(`the main job with ${name}`, () => run(process.execPath, [`out/${name}-job.js`], env));
      }
    } finally {
      await platform.stop();
    }
  } finally {
    await mochaGlobalTeardown();
  }
}

async function step(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    process.stdout.write(`holds   ${what}\n`);
  } catch (error) {
    failures += 1;
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    process.stdout.write(`FAILED  ${what}\n${stdout}${stderr}${error}\n`);
  }
}

function tool(name: string, ...args: string[]): Promise<unknown> {
  return run(join(folder, 'node_modules/.bin', name), args);
}

function run(file: string, args: string[], env: Record<string, string> = {}): Promise<unknown> {
  const options = { cwd: folder, env: { ...process.env, ...env }, timeout: TIMEOUT_MS, maxBuffer: 1 << 26 };
  return promisify(execFile)(file, args, options);
}

function write(name: string, content: string): Promise<void> {
  return writeFile(join(folder, name), content);
}
