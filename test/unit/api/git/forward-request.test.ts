import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { expect } from 'chai';
import Koa from 'koa';
import { forwardTo } from '../../../../api/git/forward-request.js';
import type { ApiContext } from '../../../../api/http/request-state.js';
import { listen } from '../../../support/http.js';

describe('A request of git that is forwarded', () => {
  const seen: string[] = [];
  const servers: Server[] = [];
  let api: number;
  let stranger: number;

  function opened(server: Server): Promise<number> {
    servers.push(server);
    return listen(server);
  }
  const noting = (name: string) =>
    createServer(({ url }, response) => {
      seen.push(`${name} ${url}`);
      response.end();
    });

  before(async () => {
    const owner = await opened(noting('owner'));
    stranger = await opened(noting('stranger'));
    const app = new Koa();
    app.use((ctx) => forwardTo(ctx as ApiContext, [`http://127.0.0.1:${owner}`], 'proof'));
    api = await opened(createServer(app.callback()));
  });
  after(() => {
    for (const server of servers) server.close();
  });

  async function ask(path: string): Promise<void> {
    const asked = request({ host: '127.0.0.1', port: api, path, agent: false }).end();
    const [answer] = await once(asked, 'response');
    answer.resume();
    await once(answer, 'end');
  }

  it('goes to the host of the installation, whichever host its request line names', async () => {
    const path = '/git/w/shop.git/info/refs?service=git-receive-pack';
    for (const before of ['', `http://127.0.0.1:${stranger}`, `http://key@127.0.0.1:${stranger}`]) {
      await ask(`${before}${path}`);
      expect(seen.splice(0)).to.deep.equal([`owner ${path}`]);
    }
    await ask(`//127.0.0.1:${stranger}${path}`);
    expect(seen.splice(0)).to.deep.equal([`owner //127.0.0.1:${stranger}${path}`]);
  });

  it('keeps its path as it is, so that no other route answers it', async () => {
    const path = '/git/w/shop.git/../../../api/v1/workspaces';
    await ask(path);
    expect(seen.splice(0)).to.deep.equal([`owner ${path}`]);
  });
});
