import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { useTestApi } from '../support/api.js';
import { hasScript, Rnv } from '../support/rnv.js';

describe('rnv new', function () {
  this.timeout(60_000);
  let rnv: Rnv;
  let env: Record<string, string>;

  useTestApi(async (given) => {
    env = { RNV_URL: given.api.url, RNV_KEY: given.workspace.owner.key };
    rnv = await Rnv.create();
  });
  after(() => rnv?.remove());
  const file = () => join(rnv.home, 'ranvier.yaml');
  beforeEach(() => rm(file(), { force: true }));
  const run = (...args: string[]) => rnv.run(args, { env });
  const written = async () => parse(await readFile(file(), 'utf8')).services['node-red'];

  it('writes ranvier.yaml from the defaults and --set, and names the next commands', async () => {
    const made = await run('new', 'node-red', '--set', 'user=a=b: {c}');
    expect(made.code, made.stderr).to.equal(0);
    expect(made.stderr)
      .to.contain('rnv plan --environment')
      .and.contain('rnv apply asks for node-red.ADMIN_PASSWORD: The password');
    expect((await written()).variables).to.deep.include({
      ADMIN_USER: 'a=b: {c}',
      ADMIN_PASSWORD: { secret: true },
    });
    const again = await run('new', 'node-red');
    expect(again.code).to.equal(2);
    expect(again.stderr).to.contain('--force');
    expect((await written()).variables.ADMIN_USER).to.equal('a=b: {c}');
    expect((await run('new', 'node-red', '--force')).code).to.equal(0);
    expect((await written()).variables.ADMIN_USER).to.equal('admin');
  });

  it('refuses what is no template, no answer of it, or a secret, and writes nothing', async () => {
    const codes: [string[], number, string][] = [
      [['no-such'], 5, 'not_found'],
      [['node-red', '--set', 'colour=red'], 2, '/values/colour is no question'],
      [['node-red', '--set', 'sizeGb=x'], 2, '/values/sizeGb must be a whole number'],
      [['node-red', '--set', 'node-red.ADMIN_PASSWORD=x'], 2, 'is a secret'],
      [['node-red', '--set', 'user'], 2, 'It must be like title=value'],
    ];
    for (const [args, code, text] of codes) {
      const result = await run('new', ...args);
      expect(result.code, result.stderr).to.equal(code);
      expect(result.stderr).to.contain(text);
    }
    expect(await readFile(file(), 'utf8').catch(() => null)).to.equal(null);
  });

  (hasScript ? it : it.skip)('asks on a terminal, with the defaults as proposals', async () => {
    const answers: [string, string][] = [
      ['The name with which you sign in', '2\r'],
      ['Room for flows', '\r'],
    ];
    const asked = await rnv.terminal(['new', 'node-red'], answers, { env });
    expect(asked.code, asked.stdout).to.equal(0);
    expect((await written()).variables.ADMIN_USER).to.equal('admin2');
    expect((await written()).volumes.data.sizeGb).to.equal(1);
  });

  it('has its names from rnv templates', async () => {
    const listed = await run('templates');
    expect(listed.stdout).to.match(/^node-red +\d+ MiB +\d+\.\d+\.\d+ +20\d\d-\d\d-\d\d +\S/m);
    const { templates } = JSON.parse((await run('templates', '--json')).stdout);
    expect(templates[0]).to.include.keys('name', 'questions');
  });
});
