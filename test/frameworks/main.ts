import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { visit } from '../support/client.js';
import { createService, queueDeploy, readDeployment, readLogs, readService } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { createRepository, type TestRepository, writeFiles } from '../support/repositories.js';
import type { FrameworkProject } from './project.js';
import { PROJECTS } from './projects.js';
import { type Row, writeTable } from './table.js';

/** `npm run test:frameworks [-- part of a name …]`: deploys each project, and writes docs/reference/frameworks.md. */
const run = promisify(execFile);
const DOCUMENT = 'docs/reference/frameworks.md';
const GENERATE_MS = 600_000;
const DEPLOY_MS = 900_000;
/** Projects at the same time. They wait for the registry most of the time. */
const AT_ONCE = 4;
const LOCKS: Readonly<Record<'pnpm' | 'yarn' | 'yarn4' | 'bun', string[]>> = {
  pnpm: ['pnpm@9', 'install', '--lockfile-only', '--ignore-scripts'],
  yarn: ['yarn@1', 'install', '--ignore-scripts', '--ignore-engines', '--no-progress'],
  yarn4: ['--package=@yarnpkg/cli-dist@4', 'yarn', 'install', '--mode=update-lockfile'],
  bun: ['bun@1', 'install', '--lockfile-only'],
};

const wanted = process.argv.slice(2).map((word) => word.toLowerCase());
const chosen = PROJECTS.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word)),
);
await mochaGlobalSetup();
let platform: Platform | null = null;
/** True once the time is over. The platform is stopped then. */
let isOver = false;
const terminated = new Promise<void>((resolve) => process.once('SIGTERM', resolve)).then(() => {
  isOver = true;
});
const rows: Row[] = [];
try {
  platform = await startPlatform({ engine: 'postgres' });
  const on = platform;
  await on.database.db('workspaces').update({ configuration: { buildConcurrency: AT_ONCE } });
  const left = [...chosen];
  const some = async (): Promise<void> => {
    for (let project = left.shift(); project !== undefined; project = left.shift()) {
      const row = await tried(on, project);
      if (isOver) return;
      if (row === null) continue;
      rows.push(row);
      await saveTable();
      process.stdout.write(`${row.works ? 'live  ' : 'FAILED'} ${row.seconds} s  ${row.name}: ${row.detail}\n`);
    }
  };
  await Promise.race([Promise.all(Array.from({ length: AT_ONCE }, some)), terminated]);
} finally {
  await platform?.stop();
  await mochaGlobalTeardown();
}
const live = rows.filter(({ works }) => works).length;
process.stdout.write(`${live} of ${rows.length} went live\n`);
process.exit(live === rows.length ? 0 : 1);

/** Written after each project, so that the results of an interrupted run are kept. */
async function saveTable(): Promise<void> {
  const before = await readFile(DOCUMENT, 'utf8').catch(() => '');
  const names = PROJECTS.map(({ name }) => name);
  await writeFile(DOCUMENT, writeTable(before, rows, names));
}

/** Returns the result of a project; null if it could not be generated, perhaps because a registry lacks packages. */
async function tried(on: Platform, project: FrameworkProject): Promise<Row | null> {
  const { name } = project;
  let repository: TestRepository | null = null;
  let began = Date.now();
  const row = (works: boolean, detail: string): Row => {
    return { name, works, detail, seconds: Math.round((Date.now() - began) / 1000) };
  };
  try {
    repository = await make(project);
    began = Date.now();
    const { detail, works } = await deploys(on, project, repository);
    return row(works, detail);
  } catch (error) {
    if (repository !== null) return row(false, shortened(error));
    process.stdout.write(`not made: ${name}: ${shortened(error)}\n`);
    return null;
  } finally {
    await repository?.remove();
  }
}

function shortened(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, 600).replace(/\s+/g, ' ');
}

async function make({ generator, files = {}, manager = 'npm' }: FrameworkProject): Promise<TestRepository> {
  const place = await mkdtemp(join(tmpdir(), 'ranvier-generated-'));
  // Generators use the folder's name as the project's name, and refuse capital letters.
  const folder = join(place, 'app');
  try {
    await mkdir(folder);
    const environment = {
      ...process.env,
      CI: 'true',
      NEXT_TELEMETRY_DISABLED: '1',
      ASTRO_TELEMETRY_DISABLED: '1',
      NG_CLI_ANALYTICS: 'false',
      npm_config_yes: 'true',
      // Without this, yarn refuses to write a new lock file.
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      YARN_ENABLE_TELEMETRY: '0',
    };
    const inFolder = (command: string, args: readonly string[]) =>
      run(command, [...args], { cwd: folder, env: environment, timeout: GENERATE_MS, maxBuffer: 64 * 1024 ** 2 });
    if (generator !== undefined) {
      // stdin is closed, so that the generator asks no question.
      await inFolder('sh', ['-c', `npm exec --yes -- ${generator} </dev/null`]);
    }
    await rm(join(folder, '.git'), { recursive: true, force: true });
    await rm(join(folder, 'node_modules'), { recursive: true, force: true });
    await writeFiles(folder, files);
    await lock(manager, folder, inFolder);
    await rm(join(folder, 'node_modules'), { recursive: true, force: true });
    const repository = await createRepository({});
    await run('cp', ['-a', `${folder}/.`, repository.folder]);
    await repository.commit('What the generator makes', {});
    return repository;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

type Run = (command: string, args: string[]) => Promise<unknown>;

async function lock(manager: NonNullable<FrameworkProject['manager']>, folder: string, inFolder: Run): Promise<void> {
  if (manager === 'npm') await lockByNpm(folder, inFolder);
  else if (manager !== 'none') {
    const [first = '', ...rest] = LOCKS[manager];
    const args = first.startsWith('--') ? [first, '--', ...rest] : ['--', first, ...rest];
    await inFolder('npm', ['exec', '--yes', ...args]);
  }
}

/** If a registry lacks packages of other platforms, npm refuses its own lock file, which is then removed. */
async function lockByNpm(folder: string, inFolder: Run): Promise<void> {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund'];
  try {
    await inFolder('npm', ['install', '--package-lock-only', ...quiet]);
    await inFolder('npm', ['ci', '--dry-run', ...quiet]);
  } catch {
    await rm(join(folder, 'package-lock.json'), { force: true });
  }
}

async function deploys(
  { client, edgePort }: Platform,
  project: FrameworkProject,
  repository: TestRepository,
): Promise<{ works: boolean; detail: string }> {
  const { rootDirectory } = project;
  const configuration = { repository: repository.url, ...(rootDirectory === undefined ? {} : { rootDirectory }) };
  const service = await createService(client, {
    name: project.name.slice(0, 60),
    kind: project.kind ?? 'web',
    configuration,
  });
  const queued = await queueDeploy(client, service.id);
  const deployment = await eventually(
    `${project.name} ends`,
    async () => {
      const found = await readDeployment(client, service.id, queued.id);
      return ['live', 'failed', 'cancelled'].includes(found.status) ? found : null;
    },
    DEPLOY_MS,
  );
  const lines = (await readLogs(client, service.id)).map(({ message }) => message);
  const detected = lines.find((line) => line.startsWith('Detected: '))?.slice('Detected: '.length) ?? '';
  if (deployment?.status !== 'live')
    return { works: false, detail: `${detected} — ${deployment?.error.slice(0, 500).replace(/\s+/g, ' ')}` };
  const { url } = await readService(client, service.id);
  const own = project.visit ?? '/';
  for (const path of [own, ...(project.route === undefined ? [] : [project.route])]) {
    const page = await visit(url, edgePort, path);
    const expected = path === own ? (project.page ?? /own page/) : /./s;
    if (page.status !== 200 || !expected.test(page.body)) {
      return {
        works: false,
        detail: `${detected} — ${path} answers ${page.status}: ${page.body.slice(0, 200).replace(/\s+/g, ' ')}`,
      };
    }
  }
  await client.expect('POST', `/services/${service.id}/actions`, { action: 'suspend' });
  return { works: true, detail: detected };
}
