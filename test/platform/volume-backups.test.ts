import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { deploy, operationEnded, readLogs, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { Rnv } from '../support/rnv.js';
import { visitsDuring } from '../support/visitors.js';

/** Runs shell commands on its volume, and writes two files in turn as fast as it can. */
const SERVER = {
  'package.json': JSON.stringify({ name: 'app', version: '1.0.0', scripts: { start: 'node server.js' } }),
  'server.js': `
const fs = require('node:fs');
const { execFileSync } = require('node:child_process');
if (fs.existsSync('/data/poison')) { console.log('poisoned'); process.exit(3); }
fs.appendFileSync('/data/starts', 'start\\n');
let count = 0;
let turning = false;
const [a, z] = ['/data/a', '/data/z'].map((path) => fs.openSync(path, fs.existsSync(path) ? 'r+' : 'w+'));
const turn = () => {
  if (!turning) return;
  count += 1;
  for (const file of [a, z]) fs.writeSync(file, String(count).padStart(12, '0'), 0);
  setImmediate(turn);
};
require('node:http').createServer((request, response) => {
  const url = new URL(request.url, 'http://x');
  if (url.pathname === '/turn') { turning = url.searchParams.has('on'); turn(); return response.end('ok'); }
  if (url.pathname !== '/sh') return response.end('here');
  try { response.end(execFileSync('/bin/sh', ['-c', url.searchParams.get('do')], { cwd: '/data', encoding: 'utf8' })); }
  catch (error) { response.statusCode = 500; response.end(String(error)); }
}).listen(process.env.PORT);
process.on('SIGTERM', () => process.exit(0));
`,
};

interface Backup {
  id: string;
  status: string;
  trigger: string;
  sizeBytes: number | null;
  error: string;
}

describe('Backups of volumes', function () {
  this.timeout(600_000);
  let platform: Platform;
  usePlatform({ engine: 'postgres', workers: 2, env: { STOP_GRACE_SECONDS: '2' } }, (started) => {
    platform = started;
  });

  async function create(name: string): Promise<Service> {
    const { service } = await platform.serviceOf(name, SERVER, { plan: 'starter' });
    await platform.client.expect('POST', `/services/${service.id}/volumes`, {
      name: 'data',
      mountPath: '/data',
      sizeGb: 1,
    });
    await deploy(platform.client, service.id);
    return service;
  }
  async function sh(service: Service, command: string): Promise<string> {
    const { status, body } = await platform.visit(service, `/sh?do=${encodeURIComponent(command)}`);
    expect(status, body).to.equal(200);
    return body.trim();
  }
  const backups = async ({ id }: Service) =>
    (await platform.client.expect<{ backups: Backup[] }>('GET', `/services/${id}/backups`)).backups;
  async function take(service: Service, body: object = {}): Promise<Backup> {
    const path = `/services/${service.id}/backups`;
    const { backup } = await platform.client.expect<{ backup: Backup }>('POST', path, body);
    return whole(service, backup.id);
  }
  function whole({ id: serviceId }: Service, id: string): Promise<Backup> {
    return eventually(
      `backup ${id} ends`,
      async () => {
        const path = `/services/${serviceId}/backups/${id}`;
        const { backup: now } = await platform.client.expect<{ backup: Backup }>('GET', path);
        if (now.status === 'failed') throw new Error(now.error);
        return now.status === 'succeeded' ? now : undefined;
      },
      400_000,
    );
  }
  async function restore(service: Service, { id }: Backup): Promise<string> {
    const path = `/services/${service.id}/backups/${id}/restore`;
    const { operation } = await platform.client.expect<{ operation: { id: string } }>('POST', path, {
      confirm: service.name,
    });
    return operationEnded(platform.client, service.id, operation.id);
  }
  const said = async ({ id }: Service) => (await readLogs(platform.client, id)).map((line) => line.message).join('\n');
  const volumeFolder = async ({ id }: Service) => {
    const { volumes } = await platform.client.expect<{ volumes: { id: string }[] }>('GET', `/services/${id}/volumes`);
    return join(platform.dataDir, 'volumes', volumes[0]?.id ?? '');
  };
  const isTidy = (service: Service) =>
    eventually('nothing else is left on the volume', async () => {
      const names = await readdir(await volumeFolder(service));
      const left = names.filter((name) => /^(before|restored)-/.test(name));
      if (left.length === 0) return true;
      throw new Error(left.join(' '));
    });

  it('bring back the content as it was, while every request is answered', async () => {
    const service = await create('shop');
    await sh(
      service,
      'mkdir -p deep && echo old > deep/file && ln -s /etc/passwd link && ln deep/file second && chmod 640 deep/file',
    );
    await sh(service, 'mkfifo pipe && truncate -s 100M holes && touch -d @1700000000 deep/file && chmod 000 holes');
    const backup = await take(service);
    expect(backup.sizeBytes).to.be.within(100, 1_000_000);
    expect(await said(service)).to.match(
      new RegExp(
        `Backup ${backup.id} succeeded: .* every byte of its volume was read back; 1 pipes, sockets and devices`,
      ),
    );
    await sh(service, 'echo new > deep/file && rm link && echo more > another && rm -f holes pipe');
    const visits = await visitsDuring(
      async () => expect(await restore(service, backup)).to.equal('succeeded'),
      () => platform.visit(service, '/'),
    );
    expect(visits.answers.filter((answer) => !answer.startsWith('200 '))).to.deep.equal([]);
    expect(
      await sh(service, 'cat deep/file second; readlink link; stat -c "%a %Y %h" deep/file; stat -c %a holes'),
    ).to.equal('old\nold\n/etc/passwd\n640 1700000000 2\n0');
    expect(await sh(service, 'ls')).to.equal('a\ndeep\nholes\nlink\nsecond\nstarts\nz');
    expect(
      await sh(service, 'echo afterwards > deep/file; cat second; stat -c %u . deep/file | uniq | wc -l'),
    ).to.equal('afterwards\n1');
    await isTidy(service);
  });

  it('with a pause are of one instant, and the application goes on afterwards', async () => {
    const service = await create('ledger');
    await sh(service, 'for i in 1 2 3; do head -c 20000000 /dev/urandom > m$i; done');
    await platform.visit(service, '/turn?on');
    const backup = await take(service, { pause: true });
    await platform.visit(service, '/turn');
    const now = Number(await sh(service, 'cat a'));
    expect(await restore(service, backup)).to.equal('succeeded');
    const [a, z] = (await sh(service, 'cat a; echo; cat z')).split('\n').map(Number);
    expect((a ?? 0) - (z ?? 0)).to.be.within(0, 1);
    expect(now).to.be.greaterThan(a ?? 0);
    expect(await sh(service, 'cat starts | wc -l')).to.equal('2');
  });

  it('pause no longer than their worker lives, and are made anew by another one', async () => {
    const service = await create('pausing');
    await sh(service, 'for i in 1 2 3; do head -c 30000000 /dev/urandom > m$i; done');
    const path = `/services/${service.id}/backups`;
    const { backup } = await platform.client.expect<{ backup: Backup }>('POST', path, { pause: true });
    const { db } = platform.database;
    await eventually('the replica is paused', async () => {
      const rows = await db('replicas').where({ service_id: service.id }).whereRaw('paused_until > now()');
      return rows.length > 0;
    });
    const { worker_id } = await db('backups').where({ id: backup.id }).first();
    const worker = await db('workers').where({ id: worker_id }).first();
    process.kill(worker.pid, 'SIGKILL');
    expect((await platform.visit(service, '/')).body).to.equal('here');
    await platform.startWorker();
    await whole(service, backup.id);
    expect(await sh(service, 'cat starts')).to.equal('start');
  });

  it('that are damaged change nothing', async () => {
    const service = await create('damaged');
    await sh(service, 'echo old > file');
    const backup = await take(service);
    await sh(service, 'echo new > file');
    const folder = join(platform.dataDir, 'backups', service.id);
    const [name = ''] = await readdir(folder);
    await truncate(join(folder, name), (backup.sizeBytes ?? 0) - 10);
    expect(await restore(service, backup)).to.equal('failed');
    expect(await sh(service, 'cat file; cat starts')).to.equal('new\nstart');
    await isTidy(service);
  });

  it('on which the application does not start leave what was there', async () => {
    const service = await create('poisoned');
    await sh(service, 'echo old > file; touch poison');
    const backup = await take(service);
    await sh(service, 'echo new > file; rm poison');
    expect(await restore(service, backup)).to.equal('failed');
    expect(await sh(service, 'cat file')).to.equal('new');
    expect(await said(service)).to.contain('serves what it had before');
    expect((await platform.visit(service, '/')).body).to.equal('here');
  });

  it('are restored by another worker if one is killed', async () => {
    const service = await create('taken over');
    await sh(service, 'echo old > file');
    const backup = await take(service);
    await sh(service, 'echo new > file');
    const ended = restore(service, backup);
    await eventually('the replica stops', async () => {
      const rows = await platform.database.db('replicas').where({ service_id: service.id, desired: 'stopped' });
      return rows.length > 0;
    });
    for (const worker of platform.workers) worker.kill('SIGKILL');
    await platform.startWorker();
    expect(await ended).to.equal('succeeded');
    expect(await sh(service, 'cat file')).to.equal('old');
    await isTidy(service);
  });

  it('take all volumes of a service, and are made, listed and restored by rnv', async () => {
    const { service } = await platform.serviceOf('two', SERVER, { plan: 'starter' });
    for (const [name, mountPath] of [
      ['data', '/data'],
      ['more', '/srv/more'],
    ]) {
      await platform.client.expect('POST', `/services/${service.id}/volumes`, { name, mountPath, sizeGb: 1 });
    }
    await deploy(platform.client, service.id);
    const rnv = await Rnv.create();
    const env = {
      RNV_URL: `http://127.0.0.1:${platform.apiPort}`,
      RNV_KEY: platform.client.key,
      RNV_SERVICE: service.id,
    };
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await rnv.run(['backups', ...args], { env });
      expect(code, `${stdout}\n${stderr}`).to.equal(0);
      return stdout;
    };
    try {
      await sh(service, 'echo old > file; echo old > /srv/more/file');
      const id = (await run('create', '--pause')).trim();
      expect(await run()).to.match(new RegExp(`^${id} +succeeded +0\\.\\d MB`));
      await sh(service, 'echo new > file; rm /srv/more/file');
      await run('restore', id, '-y');
      expect(await sh(service, 'cat file /srv/more/file')).to.equal('old\nold');
      expect(await said(service)).to.contain('every byte of its 2 volumes was read back');
    } finally {
      await rnv.remove();
    }
  });

  it('are made by the schedule', async () => {
    const service = await create('daily');
    await platform.database
      .db('deployments')
      .where({ service_id: service.id })
      .update({ went_live_at: new Date(Date.now() - 2 * 24 * 3_600_000) });
    const made = await eventually(
      'a scheduled backup succeeds',
      async () => (await backups(service)).find(({ status }) => status === 'succeeded'),
      400_000,
    );
    expect(made.trigger).to.equal('schedule');
  });
});
