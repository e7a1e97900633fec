import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Json } from '../support/api.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { Rnv, type RnvResult } from '../support/rnv.js';

describe('A file of another platform, and the clone of what it became', function () {
  this.timeout(300_000);
  let platform: Platform;
  let rnv: Rnv;
  let repository: string;
  let env: Record<string, string>;

  usePlatform({ engine: 'postgres', workers: 1 }, async (started) => {
    platform = started;
    rnv = await Rnv.create();
    repository = (await platform.repositoryOf(nodeServer('moved in'))).url;
    env = { RNV_URL: `http://127.0.0.1:${platform.apiPort}`, RNV_KEY: platform.client.key };
    await platform.client.expect('POST', '/projects', { name: 'Shop', color: 'blue' });
  });
  after(() => rnv?.remove());

  const run = (args: string[], input = '') => rnv.run(args, { env, input });
  const expectCode = ({ code, stdout, stderr }: RnvResult, expected: number) =>
    expect(code, `${stdout}\n${stderr}`).to.equal(expected);
  const services = async (): Promise<Json[]> => (await platform.client.expect<Json>('GET', '/services')).services;

  it('is imported and applied by rnv, and its copy serves too', async () => {
    const app = { name: 'Blog', env: { LEVEL: 'info', KEY: { generator: 'secret' }, TOKEN: { required: true } } };
    await writeFile(join(rnv.home, 'app.json'), JSON.stringify(app));
    await writeFile(join(rnv.home, 'Procfile'), 'web: node server.js\n');
    const imported = await run(['import', 'app.json', '--repository', repository]);
    expectCode(imported, 0);
    expect(await readFile(join(rnv.home, 'ranvier.yaml'), 'utf8')).to.contain('startCommand: node server.js');
    expectCode(await run(['import', 'app.json']), 2);
    const at = ['--stack', 'blog', '--environment', 'Shop/Production', '--yes', '--values', '-'];
    expectCode(await run(['apply', ...at], '{"blog.TOKEN":"one"}'), 0);
    const [blog] = await services();
    expect((await visit(blog.url, platform.edgePort)).body).to.equal('moved in');

    const create = ['environments', 'create', 'Staging', '--clone-from', 'Shop/Production', '--deploy'];
    const missing = await run(create);
    expect(missing.code).not.to.equal(0);
    expect(missing.stderr).to.contain('blog.TOKEN');
    expectCode(await run([...create, '--values', '-'], '{"blog.TOKEN":"two"}'), 0);
    const copy = (await services()).find(({ id }) => id !== blog.id);
    expect(copy).to.include({ name: 'blog', status: 'live' });
    expect(copy.url).not.to.equal(blog.url);
    expect((await visit(copy.url, platform.edgePort)).body).to.equal('moved in');
    expect((await run(['environments'])).stdout).to.match(/^Shop\/Production .*\nShop\/Staging /m);
  });
});
