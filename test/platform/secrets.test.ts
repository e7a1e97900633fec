import { expect } from 'chai';
import { Redis } from 'ioredis';
import { rowsOf } from '../../shared/core/database/database-client.js';
import { nodeServer } from '../support/apps.js';
import { act, createService, deploy, ended, queueDeploy, readLogs, readService } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { hasRedis } from '../support/redis.js';
import { startGitServer } from '../support/repositories.js';

const TOKEN = 'tok-5f2d9c81e7/+a"b';
/** Longer than a chunk of output. */
const LONG = Array.from({ length: 6000 }, (_, i) => `k${i}`).join('.');
const PEM = '-----BEGIN TEST KEY-----\nMIIEvgIBADANBgkqhkiG9w\nBAQEFAASCBKgwggSkAgEA\n-----END TEST KEY-----\n';
const PASSWORD = 'repository-pa55word';

/** Prints its secrets in all the ways in which programs do. */
const TALK = `
  const { TOKEN, LONG, PEM } = process.env;
  const base64 = (text) => Buffer.from(text).toString('base64');
  console.log('plain ' + TOKEN);
  console.log('json ' + JSON.stringify({ TOKEN, PEM }));
  console.log('url https://user:' + encodeURIComponent(TOKEN) + '@host/');
  console.log('basic ' + base64('user:' + TOKEN) + ' ' + base64('me:' + TOKEN) + ' ' + base64(TOKEN));
  console.log(PEM);
  console.error(new Error('cannot sign in with ' + TOKEN));
  process.stdout.write('x'.repeat(16380) + TOKEN + 'y'.repeat(40) + '\\n');
  process.stdout.write('long ' + LONG + ' end\\n');
  process.stdout.write('halves ' + TOKEN.slice(0, 9));
  setTimeout(() => process.stdout.write(TOKEN.slice(9) + ' joined\\n'), 300);
  setTimeout(() => process.stdout.write('z'.repeat(20000) + LONG.slice(0, 15000)), 400);
  setTimeout(() => process.stdout.write(LONG.slice(15000) + ' whole\\n'), 800);
`;

function tracesOf(text: string): string[] {
  const base64 = Buffer.from(TOKEN).toString('base64').slice(0, 12);
  const forms = [TOKEN, TOKEN.slice(4, 14), JSON.stringify(TOKEN).slice(1, -1), encodeURIComponent(TOKEN), base64];
  const shifted = ['user:', 'me:'].map((user) =>
    Buffer.from(user + TOKEN)
      .toString('base64')
      .slice(8, 20),
  );
  const lines = PEM.split('\n').filter((line) => line !== '');
  const long = [LONG.slice(0, 30), LONG.slice(14_985, 15_015), LONG.slice(16_370, 16_400), LONG.slice(-30)];
  return [...forms, ...shifted, ...lines, ...long, PASSWORD].filter((trace) => text.includes(trace));
}

/** Uses Redis if it is installed, so that its keys are searched too. */
describe('Secrets', function () {
  this.timeout(240_000);
  let platform: Platform;
  const variables = Object.entries({ TOKEN, LONG, PEM }).map(([key, value]) => ({ key, value }));

  usePlatform(
    { engine: hasRedis ? 'redis' : 'postgres', env: { RELEASE_TIMEOUT_SECONDS: '30', STOP_GRACE_SECONDS: '1' } },
    (started) => {
      platform = started;
    },
  );

  async function service(name: string, server: string, configuration: object = {}) {
    const files = { ...nodeServer(name), 'talk.js': TALK, 'server.js': server };
    const { service: made } = await platform.serviceOf(name, files, configuration);
    for (const variable of variables) await platform.client.expect('POST', `/services/${made.id}/variables`, variable);
    return made;
  }

  async function fails(id: string): Promise<string> {
    const queued = await queueDeploy(platform.client, id);
    const deployment = await ended(platform.client, id, queued.id);
    expect(deployment.status).to.equal('failed');
    return deployment.error;
  }

  const serve = `${TALK} require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);`;

  it('in builds, commands and applications do not reach the log', async () => {
    const { client } = platform;
    const talking = await service('talking', serve, {
      buildCommand: 'node talk.js; set -x; echo "$TOKEN"; printenv | base64',
      preDeployCommand: 'node talk.js',
    });
    await deploy(client, talking.id);
    await eventually('the command and the application have said all', async () => {
      const said = await readLogs(client, talking.id, '&source=runtime');
      return said.filter(({ message }) => message.endsWith('whole')).length > 1;
    });
    expect(await act(client, talking.id, 'restart')).to.equal('succeeded');
    const lines = (await readLogs(client, talking.id)).map((line) => line.message);
    expect(lines.filter((line) => line === 'plain ***')).to.have.length.at.least(3);
    expect(lines.filter((line) => line === 'halves *** joined')).to.have.length.at.least(3);
    expect(lines.filter((line) => /^(z*\*\*\*)? ?whole$|\*\*\* whole$/.test(line))).to.have.length.at.least(3);
    expect(tracesOf(lines.join('\n'))).to.deep.equal([]);
  });

  it('reach no error of a failed build, command or start', async () => {
    const { client } = platform;
    const build = await service('failing build', serve, {
      buildCommand: 'node talk.js; echo "error: $TOKEN" >&2; exit 3',
    });
    const pushed = `${'e'.repeat(480)} error: `;
    const cut = await service('cut error', serve, { buildCommand: `echo "${pushed}$TOKEN" >&2; exit 3` });
    const command = await service('failing command', serve, {
      preDeployCommand: 'node talk.js; echo "$TOKEN"; exit 4',
    });
    const start = await service(
      'failing start',
      `${TALK} setTimeout(() => { console.error(TOKEN); process.exit(1) }, 1200)`,
    );
    for (const { id, name } of [build, cut, command, start]) {
      const error = await fails(id);
      expect(error, name).to.contain('***');
      expect(tracesOf(error), name).to.deep.equal([]);
      const shown = JSON.stringify([await readLogs(client, id), await readService(client, id)]);
      expect(tracesOf(shown), name).to.deep.equal([]);
    }
  });

  it('of a repository’s address stay out of errors and logs', async () => {
    const { client } = platform;
    const repository = `http://deployer:${PASSWORD}@127.0.0.1:1/app.git`;
    const made = await createService(client, { name: 'private', configuration: { repository } });
    const error = await fails(made.id);
    expect(error).to.contain('127.0.0.1:1/app.git').and.not.contain(PASSWORD);
    expect(JSON.stringify(await readLogs(client, made.id))).to.not.contain(PASSWORD);
  });

  it('of a repository’s address open the repository, which answers to nobody else', async () => {
    const { client } = platform;
    const repository = await platform.repositoryOf(nodeServer('private'));
    const wanted = `Basic ${Buffer.from(`deployer:${PASSWORD}`).toString('base64')}`;
    const git = await startGitServer(repository.folder, (request, response) => {
      if (request.headers.authorization === wanted) return false;
      response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
      return true;
    });
    try {
      const address = `http://deployer:${PASSWORD}@127.0.0.1:${git.port}/.git`;
      const made = await createService(client, { name: 'guarded', configuration: { repository: address } });
      await deploy(client, made.id);
      // A caller may send back the masked configuration that it was shown.
      const { configuration } = (
        await client.expect<{ service: { configuration: { repository: string } } }>('GET', `/services/${made.id}`)
      ).service;
      expect(configuration.repository).to.equal(`http://***@127.0.0.1:${git.port}/.git`);
      await client.expect('PATCH', `/services/${made.id}`, { configuration });
      await repository.commit('two', nodeServer('two'));
      await deploy(client, made.id);
    } finally {
      await git.close();
    }
  });

  it('stand in clear in no table and in no queue', async () => {
    const { db } = platform.database;
    const tables = await rowsOf<{ name: string }>(
      db,
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.length).to.be.greaterThan(20);
    let rows = 0;
    for (const { name } of tables) {
      const found = await rowsOf<{ text: string }>(db, `select t::text as text from ${name} t`);
      rows += found.length;
      const text = found.map((row) => row.text.replaceAll('""', '"').replaceAll('\\\\', '\\')).join('\n');
      expect(tracesOf(text), name).to.deep.equal([]);
      for (const value of [TOKEN, PEM]) expect(text.includes(Buffer.from(value).toString('hex')), name).to.equal(false);
    }
    expect(rows).to.be.greaterThan(100);
    if (platform.redis) {
      const entries = await everythingIn(platform.redis.port);
      expect(entries.length).to.be.greaterThan(10);
      expect(tracesOf(entries.join('\n'))).to.deep.equal([]);
    }
  });

  it('reach no log of the platform’s own processes', () => {
    for (const { name, output } of platform.processes) expect(tracesOf(output), name).to.deep.equal([]);
  });
});

async function everythingIn(port: number): Promise<string[]> {
  const redis = new Redis(port, '127.0.0.1');
  try {
    const found: string[] = [];
    for await (const keys of redis.scanStream() as AsyncIterable<string[]>) {
      for (const key of keys) found.push(`${key} ${await contentOf(redis, key)}`);
    }
    return found;
  } finally {
    redis.disconnect();
  }
}

async function contentOf(redis: Redis, key: string): Promise<string> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return (await redis.get(key)) ?? '';
    case 'hash':
      return Object.entries(await redis.hgetall(key))
        .flat()
        .join('\n');
    case 'list':
      return (await redis.lrange(key, 0, -1)).join('\n');
    case 'set':
      return (await redis.smembers(key)).join('\n');
    case 'zset':
      return (await redis.zrange(key, 0, '-1')).join('\n');
    case 'stream':
      return JSON.stringify(await redis.xrange(key, '-', '+'));
    case 'none':
      // The lock was released since the keys were listed.
      return '';
    default:
      throw new Error(`${key} has the unknown type ${type}`);
  }
}
