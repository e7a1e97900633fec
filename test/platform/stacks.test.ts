import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Json } from '../support/api.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';
import { Rnv, type RnvResult } from '../support/rnv.js';

const server = (word: string) => {
  const files = nodeServer(word);
  const said = files['server.js']?.replaceAll(
    JSON.stringify(word),
    `${JSON.stringify(`${word} `)} + process.env.GREETING`,
  );
  return { ...files, 'server.js': said ?? '' };
};

describe('A stack of a whole platform', function () {
  this.timeout(300_000);
  let platform: Platform;
  let rnv: Rnv;
  let repository: TestRepository;
  let env: Record<string, string>;

  usePlatform({ engine: 'postgres', workers: 2 }, async (started) => {
    platform = started;
    rnv = await Rnv.create();
    repository = await platform.repositoryOf(server('app'));
    env = { RNV_URL: `http://127.0.0.1:${platform.apiPort}`, RNV_KEY: platform.client.key };
  });
  after(() => rnv?.remove());

  const document = (greeting: string, names: readonly string[]) =>
    `# Our shop\nservices:\n${names
      .map(
        (name) =>
          `  ${name}:\n    kind: web\n    repository: ${repository.url} # the code\n    variables:\n      GREETING: ${greeting}\n` +
          '      TOKEN: { secret: true }\n',
      )
      .join('')}`;
  const file = () => join(rnv.home, 'ranvier.yaml');
  const at = ['--stack', 'shop', '--environment', 'Shop/Production'];
  const run = (args: string[], input = '') => rnv.run(args, { env, input });
  const expectCode = ({ code, stdout, stderr }: RnvResult, expected: number) =>
    expect(code, `${stdout}\n${stderr}`).to.equal(expected);
  const service = async (name: string): Promise<Json> => {
    const { services } = await platform.client.expect<Json>('GET', '/services');
    return services.find((each: Json) => each.name === name);
  };
  const answer = async (name: string) => (await visit((await service(name)).url, platform.edgePort)).body;
  const deployments = async (name: string): Promise<Json[]> =>
    (await platform.client.expect<Json>('GET', `/services/${(await service(name)).id}/deploys`)).items;

  it('is planned, applied, changed and pulled by rnv', async () => {
    await writeFile(file(), document('hello', ['web']));
    const homeless = await run(['plan', ...at]);
    expectCode(homeless, 5);
    expect(homeless.stderr).to.contain('rnv projects create');
    expectCode(await run(['projects', 'create', 'Shop', '--color', 'pinkish']), 2);
    expect((await run(['projects', 'create', 'Shop'])).stderr).to.contain('Shop/Production');
    expect((await run(['projects'])).stdout).to.match(/^Shop +Production +\S+$/m);
    const planned = await run(['plan', ...at]);
    expectCode(planned, 0);
    expect(planned.stdout).to.contain('+ service web').and.contain('Deploys web');
    expectCode(await run(['plan', ...at, '--exit-code']), 3);
    // Without a terminal, neither the question nor the secret can be answered.
    expectCode(await run(['apply', ...at]), 2);
    expectCode(await run(['apply', ...at, '--yes']), 2);
    const applied = await run(['apply', ...at, '--yes', '--values', '-'], '{"web.TOKEN":"secret"}');
    expectCode(applied, 0);
    expect(applied.stderr)
      .to.match(/^ {2}service\.create web$/m)
      .and.match(/^Applied\.$/m);
    expect(await answer('web')).to.equal('app hello');

    expectCode(await run(['plan', '--stack', 'shop', '--exit-code']), 0);
    expect((await run(['status'])).stdout).to.match(/^web +Shop\/Production +web +live/m);
    expectCode(await run(['apply', '--stack', 'shop', '--yes']), 0);
    expect(await deployments('web')).to.have.length(1);

    await writeFile(file(), document('goodbye', ['web']));
    expectCode(await run(['apply', '--stack', 'shop', '--yes']), 0);
    expect(await answer('web')).to.equal('app goodbye');

    await platform.client.expect('PATCH', `/services/${(await service('web')).id}`, { configuration: { replicas: 2 } });
    const { stack } = await platform.client.expect<Json>('GET', '/stacks/shop');
    expect(stack.drift[0].fields).to.deep.equal([{ path: '/replicas', from: 2, to: 1 }]);
    expectCode(await run(['pull', '--stack', 'shop']), 0);
    const pulled = await readFile(file(), 'utf8');
    expect(pulled)
      .to.contain('# Our shop')
      .and.contain('# the code')
      .and.contain('GREETING: goodbye')
      .and.contain('replicas: 2');
    expectCode(await run(['plan', '--stack', 'shop', '--exit-code']), 0);
    const again = await run(['pull', '--stack', 'shop', '--json']);
    expect(JSON.parse(again.stdout)).to.deep.include({ changed: false });
  });

  it('is applied once, to its end, although its workers are killed meanwhile', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `many-${index}`);
    const text = document('many', names);
    const { plan } = await platform.client.expect<Json>('POST', '/stacks/plan', {
      name: 'many',
      document: text,
      environmentId: (await service('web')).environmentId,
    });
    const body = {
      document: text,
      planHash: plan.hash,
      environmentId: (await service('web')).environmentId,
      values: Object.fromEntries(names.map((name) => [`${name}.TOKEN`, 'x'])),
    };
    const { apply } = await platform.client.expect<Json>('POST', '/stacks/many/apply', body);
    const read = async (): Promise<Json> =>
      (await platform.client.expect<Json>('GET', `/stacks/many/applies/${apply.id}`)).apply;
    const done = ({ steps }: Json) => steps.filter(({ status }: Json) => status === 'done').length;
    await eventually('some steps are done', async () => done(await read()) >= 2);
    for (const worker of platform.workers) worker.kill('SIGKILL');
    await platform.startWorker();
    const ended = await eventually(
      'the apply has ended',
      async () => {
        const now = await read();
        return now.finishedAt === null ? undefined : now;
      },
      240_000,
    );
    expect(ended.status, ended.error).to.equal('succeeded');
    const { services } = await platform.client.expect<Json>('GET', '/services');
    expect(services.filter(({ name }: Json) => name.startsWith('many-')).length).to.equal(names.length);
    for (const name of names) {
      expect(await deployments(name), name).to.have.length(1);
      expect(await answer(name)).to.equal('app many');
    }
  });

  it('is deleted with what it owns', async () => {
    const { deleted, apply } = await platform.client.expect<Json>('DELETE', '/stacks/shop', { confirm: 'shop' });
    expect(deleted).to.equal(false);
    expect(apply.status).to.equal('queued');
    await eventually('the service is gone', async () => (await service('web')) === undefined);
    await eventually(
      'the stack is gone',
      async () => (await platform.client.call('GET', '/stacks/shop')).status === 404,
    );
  });
});
