import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { WorkTree } from '../../../../api/cli/work-tree.js';
import { listen } from '../../../support/http.js';

describe('The key of a push', () => {
  const servers: Server[] = [];
  const folders: string[] = [];
  after(async () => {
    for (const server of servers) server.close();
    for (const folder of folders) await rm(folder, { recursive: true });
  });

  async function startServer() {
    const given: string[] = [];
    const server = createServer((request, response) => {
      if (request.headers.authorization !== undefined) given.push(request.headers.authorization);
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
    });
    servers.push(server);
    return { url: `http://127.0.0.1:${await listen(server)}/`, given };
  }

  it('goes to the host of the platform only, whatever the user lets git replace', async () => {
    const [platform, foreign] = [await startServer(), await startServer()];
    const folder = await mkdtemp(join(tmpdir(), 'push-key-'));
    folders.push(folder);
    const target = `${platform.url}git/one.git`;
    const rules = [target, platform.url, 'http://', 'rnv-', ''].flatMap((from) => [
      `[url "${foreign.url}"]\n\tinsteadOf = "${from}"\n\tpushInsteadOf = "${from}"\n`,
    ]);
    const config = join(folder, 'config');
    const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_GLOBAL: config, GIT_CONFIG_NOSYSTEM: '1' };
    await writeFile(config, rules.join(''));
    execFileSync('git', ['init', '-q', '-b', 'main', folder], { env });
    await writeFile(join(folder, 'a'), 'a');
    const tree = await WorkTree.open(folder, env, new AbortController().signal);
    try {
      const refusal = tree.push(await tree.snapshot(), { url: target, branch: 'main', key: 'secret' });
      expect(await refusal.catch(({ exitCode }) => exitCode)).to.equal(3);
    } finally {
      await tree.close();
    }
    expect(foreign.given).to.deep.equal([]);
    expect(platform.given[0]).to.equal(`Basic ${Buffer.from('rnv:secret').toString('base64')}`);
  });
});
