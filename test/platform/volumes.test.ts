import { spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { canMountImages } from '../../workers/volumes/volume-image.js';
import {
  act as actOn,
  deploy,
  ended,
  queueDeploy,
  readLogs,
  readService,
  type Service,
} from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { visitsDuring } from '../support/visitors.js';

/** Returns an application that writes a line at each start and request, and one if two copies run at the same time. */
const server = (release: string, startMs = 0) => ({
  'package.json': JSON.stringify({ name: 'app', version: '1.0.0', scripts: { start: 'node server.js' } }),
  'server.js': `
const fs = require('node:fs');
const http = require('node:http');
if (fs.existsSync('/data/running')) fs.appendFileSync('/data/overlaps', '${release}\\n');
fs.writeFileSync('/data/running', '${release}');
fs.appendFileSync('/data/starts', '${release}\\n');
const app = http.createServer((request, response) => {
  const path = '/data' + new URL(request.url, 'http://x').pathname;
  if (request.method === 'POST') { fs.appendFileSync('/data/posts', request.url + '\\n'); response.end('stored'); return; }
  if (request.url === '/die') process.kill(process.pid, 'SIGKILL');
  if (request.url === '/') { response.end('${release}'); return; }
  if (request.url === '/fill') {
    let written = 0;
    try { for (;;) { fs.appendFileSync('/data/big', Buffer.alloc(10_000_000)); written += 10_000_000; } }
    catch (error) { fs.rmSync('/data/big'); response.end(error.code + ' ' + written); }
    return;
  }
  if (request.url === '/size') { const { blocks, bsize } = fs.statfsSync('/data'); response.end(String(blocks * bsize)); return; }
  response.end(fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : '');
});
setTimeout(() => app.listen(process.env.PORT), ${startMs});
process.on('SIGTERM', () => { fs.rmSync('/data/running', { force: true }); process.exit(0); });
`,
});

interface Volume {
  id: string;
  usedBytes: number;
  host: string | null;
  sizeGb: number;
}

describe('A service with a volume', function () {
  this.timeout(300_000);
  let platform: Platform;
  usePlatform({ engine: 'postgres', workers: 1 }, (started) => {
    platform = started;
  });

  async function create(
    name: string,
  ): Promise<{ service: Service; push: (files: Record<string, string>) => Promise<unknown> }> {
    const { service, repository } = await platform.serviceOf(name, server('one'), { plan: 'starter' });
    await platform.client.expect('POST', `/services/${service.id}/volumes`, {
      name: 'data',
      mountPath: '/data',
      sizeGb: 1,
    });
    return { service, push: (files) => repository.commit('Next', files) };
  }
  const get = async (service: Service, path: string) => (await platform.visit(service, path)).body;
  const volumes = async ({ id }: Service): Promise<Volume[]> =>
    (await platform.client.expect<{ volumes: Volume[] }>('GET', `/services/${id}/volumes`)).volumes;
  const act = async ({ id }: Service, action: string) => {
    expect(await actOn(platform.client, id, action), action).to.equal('succeeded');
  };
  const hasFileSystems = async () => platform.user === null && (await canMountImages(platform.dataDir));
  const loopDevices = ({ id }: Volume) =>
    spawnSync('losetup', ['-n', '-O', 'BACK-FILE'], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((line) => line.includes(id));

  it('loses no request and no content in releases, a restart, a rollback and a failed release, and never has two writers', async () => {
    const { service, push } = await create('files');
    const first = await deploy(platform.client, service.id);
    await platform.visit(service, '/');
    const visits = await visitsDuring(
      async () => {
        for (const release of ['two', 'three', 'four']) {
          await push(server(release));
          await deploy(platform.client, service.id);
        }
        await act(service, 'restart');
        await push({ 'server.js': 'process.exit(3)' });
        const failed = await ended(platform.client, service.id, (await queueDeploy(platform.client, service.id)).id);
        expect(failed.status).to.equal('failed');
        const path = `/services/${service.id}/deploys/${first.id}/rollback`;
        const { deployment } = await platform.client.expect<{ deployment: { id: string } }>('POST', path, {
          confirm: 'files',
        });
        expect((await ended(platform.client, service.id, deployment.id)).status).to.equal('live');
      },
      (visitor) => platform.visit(service, visitor === 0 ? '/starts' : '/'),
    );
    const bad = visits.answers.filter((answer) => !answer.startsWith('200 '));
    expect(bad).to.deep.equal([]);
    expect(visits.count).to.be.greaterThan(50);
    expect(await get(service, '/starts')).to.equal('one\ntwo\nthree\nfour\nfour\nfour\none\n');
    expect(await get(service, '/overlaps')).to.equal('');
    expect((await readLogs(platform.client, service.id)).map(({ message }) => message)).to.include(
      'The previous release is running again',
    );
  });

  it('keeps its content when it is suspended, and when its worker is killed', async () => {
    const { service } = await create('kept');
    await deploy(platform.client, service.id);
    await act(service, 'suspend');
    const [volume] = await volumes(service);
    await eventually('no loop device is left', async () => volume !== undefined && loopDevices(volume).length === 0);
    await act(service, 'resume');
    expect(await get(service, '/starts')).to.equal('one\none\n');
    const [worker] = platform.workers;
    await worker?.kill('SIGKILL');
    await platform.startWorker();
    expect(await get(service, '/starts')).to.equal('one\none\n');
    await act(service, 'restart');
    expect(await get(service, '/starts')).to.equal('one\none\none\n');
  });

  it('answers what came while its replica was killed', async () => {
    const { service } = await create('killed');
    await deploy(platform.client, service.id);
    await platform.visit(service, '/die');
    expect((await platform.visit(service)).body).to.equal('one');
    expect(await get(service, '/starts')).to.match(/^one\n(one\n)+$/);
  });

  it('never has two writers if a worker is killed between the end of the old replica and the start of the new one', async () => {
    const { service, push } = await create('taken over');
    await deploy(platform.client, service.id);
    await push(server('two', 3_000));
    const { id } = await queueDeploy(platform.client, service.id);
    await eventually('the new replica starts', async () => {
      const rows = await platform.database.db('replicas').where({ deployment_id: id, state: 'starting' });
      return rows.length === 1;
    });
    for (const worker of platform.workers) worker.kill('SIGKILL');
    await platform.startWorker();
    expect((await ended(platform.client, service.id, id)).status).to.equal('live');
    expect(await get(service, '/starts')).to.equal('one\ntwo\n');
    expect(await get(service, '/overlaps')).to.equal('');
  });

  it('is stopped at 110 per cent of a size that is counted, and starts when files were deleted', async function () {
    const { service } = await create('counted');
    await deploy(platform.client, service.id);
    if (await hasFileSystems()) this.skip();
    const { id } = service;
    const run = async (command: string) => {
      const path = `/services/${id}/runs`;
      const { run: made } = await platform.client.expect<{ run: { id: string } }>('POST', path, { command });
      await eventually(`${command} succeeds`, async () => {
        const { run: now } = await platform.client.expect<{ run: { status: string } }>('GET', `${path}/${made.id}`);
        return now.status === 'succeeded';
      });
    };
    await run('fallocate -l 1200000000 /data/big');
    const detail = async () => (await readService(platform.client, id)).runtimeDetail;
    await eventually('it says why it does not run', async () => (await detail()).includes('110 %'), 120_000);
    await run('rm /data/big');
    await eventually('it runs again', async () => (await platform.visit(service)).body === 'one', 120_000);
  });

  it('is refused more than the size of its volume, which grows, and whose used bytes are shown', async function () {
    const { service } = await create('sized');
    await deploy(platform.client, service.id);
    if (!(await hasFileSystems())) this.skip();
    const [code, written] = (await get(service, '/fill')).split(' ');
    expect(code).to.equal('ENOSPC');
    expect(Number(written)).to.be.within(800_000_000, 1_000_000_000);
    const [volume] = await volumes(service);
    expect(volume?.host).to.be.a('string');
    await eventually('the used bytes are known', async () => ((await volumes(service))[0]?.usedBytes ?? 0) > 0);
    await platform.client.expect('PATCH', `/services/${service.id}/volumes/${volume?.id}`, { sizeGb: 2 });
    await act(service, 'restart');
    await eventually('it is larger', async () => Number(await get(service, '/size')) > 1_700_000_000);
    expect(await get(service, '/starts')).to.include('one\n');
  });

  it('has it in its runs and in its pre-deploy command, and loses it when it is deleted', async () => {
    const { service } = await create('runs');
    await platform.client.expect('PATCH', `/services/${service.id}`, {
      configuration: { preDeployCommand: 'echo prepared > /data/prepared' },
    });
    await deploy(platform.client, service.id);
    expect(await get(service, '/prepared')).to.equal('prepared\n');
    const { run } = await platform.client.expect<{ run: { id: string } }>('POST', `/services/${service.id}/runs`, {
      command: 'cat /data/prepared && echo by-run > /data/run',
    });
    await eventually('the run succeeds', async () => {
      const path = `/services/${service.id}/runs/${run.id}`;
      const { run: now } = await platform.client.expect<{ run: { status: string; error: string } }>('GET', path);
      if (now.status === 'failed') throw new Error(now.error);
      return now.status === 'succeeded';
    });
    expect(await get(service, '/run')).to.equal('by-run\n');
    const [volume] = await volumes(service);
    expect(await readdir(join(platform.dataDir, 'volumes'))).to.include(volume?.id);
    await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: 'runs' });
    await eventually('the content and the record are gone', async () => {
      const rows = await platform.database.db('volumes').where({ service_id: service.id });
      return rows.length === 0;
    });
    expect(await readdir(join(platform.dataDir, 'volumes'))).not.to.include(volume?.id);
  });
});
