import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { deploy, ended, queueDeploy, readLogs, type Service } from '../support/deployments.js';
import { DIST, type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';

const run = promisify(execFile);
const NEXT = '99.0.0';

/** A migration of the next version, which only adds a column, as all migrations do. */
const MIGRATION = `
export async function up(knex) { await knex.raw("alter table deployments add column of_the_next_version text not null default ''"); }
export async function down(knex) { await knex.raw('alter table deployments drop column of_the_next_version'); }
`;

async function makeNextVersion(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ranvier-next-'));
  const root = join(DIST, '..');
  await cp(DIST, join(folder, 'dist'), { recursive: true, filter: (source) => !source.includes('/dist/test') });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: NEXT }));
  await writeFile(join(folder, 'dist/migrations/29991231235959_of_the_next_version.js'), MIGRATION);
  return folder;
}

/** One queue engine is enough: the two versions share only the database. */
describe('An upgrade of the platform', function () {
  this.timeout(240_000);
  let platform: Platform;
  let repository: TestRepository;
  let next: string;
  let service: Service;

  usePlatform({ engine: 'postgres' }, async (started) => {
    platform = started;
    next = await makeNextVersion();
    const buildCommand = 'echo building now; sleep 3';
    ({ service, repository } = await platform.serviceOf('app', nodeServer('one'), { buildCommand }));
  });
  after(() => rm(next, { recursive: true, force: true }));

  async function building(): Promise<string> {
    const { id } = await queueDeploy(platform.client, service.id);
    await eventually('the build runs', async () =>
      (await readLogs(platform.client, service.id, `&deploymentId=${id}`)).some(
        (line) => line.message === 'building now',
      ),
    );
    return id;
  }

  async function versions(): Promise<string[]> {
    const rows = await platform.database.db('workers').select('version', 'pid').orderBy('version');
    const alive = new Set(platform.workers.map((worker) => worker.child.pid));
    return rows.filter((row) => alive.has(row.pid)).map((row) => row.version);
  }

  it('the next version migrates while this one works, and this one goes on', async () => {
    const id = await building();
    await run(process.execPath, [join(next, 'dist/migrations/main.js')], { env: platform.env });
    expect(await platform.database.db.schema.hasColumn('deployments', 'of_the_next_version')).to.equal(true);
    expect((await ended(platform.client, service.id, id)).status).to.equal('live');
  });

  it('workers of both versions run side by side', async () => {
    await platform.startWorker({}, join(next, 'dist'));
    const found = await versions();
    expect(found).to.have.length(2);
    expect(found).to.include(NEXT);
  });

  it('TERM hands what the old one builds over to the new one, and no deployment fails', async () => {
    const [old, young] = platform.workers;
    // One worker is stopped, so that the other one takes the deployment.
    young?.kill('SIGSTOP');
    const id = await building();
    young?.kill('SIGCONT');
    await old?.stop('SIGTERM');
    expect(await ended(platform.client, service.id, id)).to.include({ status: 'live', error: '' });
    expect(await versions()).to.deep.equal([NEXT]);
  });

  it('back again: this version starts on the database of the next one, and takes over', async () => {
    const [young] = platform.workers;
    await run(process.execPath, [join(DIST, 'migrations/main.js')], { env: platform.env });
    await platform.startWorker();
    await young?.stop('SIGTERM');
    await repository.commit('two', nodeServer('two'));
    await deploy(platform.client, service.id);
    expect((await visit(service.url, platform.edgePort)).body).to.equal('two');
  });
});
