import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import {
  type Deployment,
  deploy,
  ended,
  operationEnded,
  queueDeploy,
  readDeployment,
  readLogs,
  type Service,
} from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { Files } from '../support/repositories.js';
import { Victim } from '../support/victim.js';

const LIMIT_MS = 300_000;
/** A busy machine may delay a heartbeat, which is due every 5 s; a blocked worker sends none for minutes. */
const MAX_SILENT_SECONDS = 30;

/** Creates folders with a path that is too long, one without permissions, and a name that is not UTF-8. */
const DEEP = `
  const fs = require('node:fs');
  module.exports = (start) => {
    fs.mkdirSync(Buffer.from(start + '/\\u00ff\\u00fe', 'latin1'));
    fs.mkdirSync(start + '/closed/inside', { recursive: true });
    fs.chmodSync(start + '/closed', 0);
    const back = process.cwd();
    process.chdir(start);
    for (let i = 0; i < 30; i++) {
      const name = 'd'.repeat(200);
      fs.mkdirSync(name);
      process.chdir(name);
    }
    fs.writeFileSync('file', '');
    process.chdir(back);
  };
`;

describe('Hostile repositories', function () {
  this.timeout(LIMIT_MS);
  let platform: Platform;
  let victim: Victim;
  usePlatform({ engine: 'postgres', env: { STOP_GRACE_SECONDS: '2' } }, async (started) => {
    platform = started;
    await platform.database
      .db('workspaces')
      .update({ configuration: { buildConcurrency: 4, overlappingDeploys: 'wait' } });
    victim = await Victim.deploy(platform);
  });

  async function serviceOf(name: string, files: Files, configuration: object = {}): Promise<Service> {
    return (await platform.serviceOf(name, files, configuration)).service;
  }

  /** Runs the attack during requests to a second service and deployments of a third. The worker must stay online. */
  async function whileOthersDeploy(attack: () => Promise<void>): Promise<void> {
    const ordinary = await serviceOf('ordinary', nodeServer('ordinary'));
    let silent = 0;
    let attacking = true;
    const watching = (async () => {
      while (attacking) {
        silent = Math.max(silent, await longestSilence());
        await delay(500);
      }
    })();
    const all = () => Promise.all([attack(), deploy(platform.client, ordinary.id)]);
    await victim.duringAttack(all).finally(() => {
      attacking = false;
    });
    await watching;
    expect(silent, 'seconds that the worker was silent').to.be.lessThan(MAX_SILENT_SECONDS);
  }

  async function longestSilence(): Promise<number> {
    const pid = platform.workers[0]?.child.pid ?? 0;
    const { rows } = await platform.database.db.raw(
      'select extract(epoch from now() - seen_at)::float as seconds from workers where pid = ?',
      [pid],
    );
    return Number(rows[0]?.seconds ?? 0);
  }

  async function deployed(service: Service): Promise<Deployment> {
    return ended(platform.client, service.id, (await queueDeploy(platform.client, service.id)).id);
  }

  async function removed({ id, name }: Service): Promise<void> {
    const { operation } = await platform.client.expect<{ operation: { id: string } }>('DELETE', `/services/${id}`, {
      confirm: name,
    });
    expect(await operationEnded(platform.client, id, operation.id)).to.equal('succeeded');
  }

  it('with files that are slow to read do not block the worker', async () => {
    const blank = '\n'.repeat(1024 * 1024 - 100);
    const server = nodeServer('read')['server.js'] ?? '';
    const python = await serviceOf('newlines', {
      'pyproject.toml': blank,
      Procfile: 'web: node server.js',
      'server.js': server,
    });
    const nested = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
    const json = await serviceOf('nested', { 'package.json': nested, 'server.js': server });
    await whileOthersDeploy(async () => {
      const [first, second] = await Promise.all([deployed(python), deployed(json)]);
      expect(first).to.include({ status: 'live', error: '' });
      expect(second.error).to.match(/^build: package\.json is not/);
    });
  });

  it('with path patterns that are slow to match do not block the worker, and can be cancelled', async () => {
    const deep = 'a/'.repeat(1000);
    const files = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${deep}${n}`, '']));
    const ignorePaths = Array.from({ length: 100 }, (_, n) => `${'**/a/*a*/'.repeat(50)}b${n}`);
    const patterns = await serviceOf('patterns', { ...nodeServer('patterns'), ...files }, { ignorePaths });
    await whileOthersDeploy(async () => {
      const { id } = await queueDeploy(platform.client, patterns.id);
      await eventually('its build has begun', async () => {
        const { steps } = await readDeployment(platform.client, patterns.id, id);
        return steps.some((step) => step.name === 'build');
      });
      await platform.client.expect('POST', `/services/${patterns.id}/deploys/${id}/cancel`, {});
      const { status } = await ended(platform.client, patterns.id, id, 60_000);
      expect(status).to.be.oneOf(['cancelled', 'live']);
    });
  });

  it('with builds and applications that make very deep folders are removed completely', async () => {
    const service = await serviceOf('deep', {
      'deep.js': DEEP,
      'build.js': `require('./deep.js')(process.env.HOME); require('./deep.js')('/tmp');`,
      'server.js': `
        require('./deep.js')(process.env.HOME); require('./deep.js')('/tmp'); require('./deep.js')('.');
        require('node:http').createServer((_, response) => response.end('deep')).listen(process.env.PORT);
      `,
      'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node server.js' } }),
    });
    await whileOthersDeploy(async () => {
      const { status, error } = await deployed(service);
      expect({ status, error }).to.deep.equal({ status: 'live', error: '' });
      expect((await visit(service.url, platform.edgePort)).body).to.equal('deep');
      // Another release replaces the first one, whose replicas are removed with all their files.
      await deploy(platform.client, service.id);
      await removed(service);
    });
    const rows = await platform.database.db('replicas').where({ service_id: service.id }).select('id');
    const ids = rows.map(({ id }) => id as string);
    await eventually('nothing of it is left', async () => {
      const found = await Promise.all(
        ['replicas', 'sandboxes', 'builds', 'trash'].map((name) =>
          readdir(join(platform.dataDir, name)).catch(() => []),
        ),
      );
      return !found.flat().some((name) => ids.some((id) => name.includes(id)) || name.includes('build-'));
    });
    const output = platform.workers[0]?.output ?? '';
    expect(output).not.to.match(/could not be removed|ENAMETOOLONG/);
  });

  it('with such folders in the image are refused with the reason', async () => {
    const service = await serviceOf('deep-image', {
      'deep.js': DEEP,
      'package.json': JSON.stringify({ scripts: { build: `node -e "require('./deep.js')('.')"`, start: 'node x' } }),
    });
    expect((await deployed(service)).error).to.match(
      /^build: (a path is too long|the name of the file .* is not UTF-8)/,
    );
  });

  it('that make two workers hang in the same step are not given to a third one', async () => {
    const service = await serviceOf('hangs', {
      ...nodeServer('hangs'),
      'package.json': JSON.stringify({ scripts: { build: 'echo building && sleep 600', start: 'node server.js' } }),
    });
    const { id } = await queueDeploy(platform.client, service.id);
    const builds = async () =>
      (await readLogs(platform.client, service.id)).filter((line) => line.message === 'building').length;
    for (let worker = 1; worker <= 2; worker++) {
      await eventually(`worker ${worker} builds`, async () => (await builds()) === worker);
      // Writes the record that a worker's fault watch writes if its event loop is blocked.
      const { fence } = await platform.database.db('deployments').where({ id }).first('fence');
      await mkdir(join(platform.dataDir, 'faults'), { recursive: true });
      await writeFile(join(platform.dataDir, 'faults', `${id}.${fence}`), '');
      await platform.workers[0]?.stop('SIGKILL');
      await platform.startWorker();
    }
    const deployment = await ended(platform.client, service.id, id);
    expect(deployment.status).to.equal('failed');
    expect(deployment.error).to.match(/^build: 2 workers hung or crashed in this step/);
    expect(await builds()).to.equal(2);
  });
});
