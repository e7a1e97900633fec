import { expect } from 'chai';
import type { Service } from '../../../../api/cli/api-types.js';
import { type Cli, normalUrl, pickService } from '../../../../api/cli/cli.js';
import { nameTaken } from '../../../../api/cli/commands/init.js';
import { status } from '../../../../api/cli/commands/status.js';
import { exitCodeOf } from '../../../../api/cli/exit-codes.js';
import { refusalOf } from '../../../../api/cli/work-tree.js';

describe('The command line', () => {
  it('ends a refused push with the code that the API’s answer would have had', () => {
    const rejected = (code: string) => `To http://x\n!\tabc:refs/heads/main\t[remote rejected] (${code})\nDone`;
    const http = (status: number) =>
      `remote: The key may only read\nfatal: unable to access 'http://x': The requested URL returned error: ${status}`;
    const codes = [
      refusalOf(rejected('forbidden'), ''),
      refusalOf(rejected('capacity_exceeded'), ''),
      refusalOf('', http(403)),
      refusalOf('', http(429)),
      refusalOf('', "fatal: Authentication failed for 'http://x'"),
      refusalOf('', "fatal: unable to access 'http://x': Failed to connect to x port 1"),
      refusalOf('', 'fatal: something else'),
    ].map(({ exitCode }) => exitCode);
    expect(codes).to.deep.equal([4, 6, 4, 7, 3, 8, 1]);
    expect(refusalOf('', http(403)).message).to.equal('The push was refused:\n  The key may only read');
  });

  it('has an exit code for every status of the API', () => {
    const statuses = [400, 401, 403, 404, 405, 409, 413, 429, 500, 503];
    expect(statuses.map(exitCodeOf)).to.deep.equal([2, 3, 4, 5, 1, 6, 2, 7, 1, 8]);
  });

  it('takes the address of an installation in every form, and none with a password', () => {
    for (const text of ['https://a.example/', 'a.example', 'https://a.example/api/v1', 'https://a.example/api/'])
      expect(normalUrl(text), text).to.equal('https://a.example');
    expect(normalUrl('http://localhost:3000/behind/')).to.equal('http://localhost:3000/behind');
    for (const text of ['', 'ftp://a', 'https://u:p@a.example']) expect(() => normalUrl(text), text).to.throw();
  });

  it('shows the deployment of a service, however many newer ones of other services are active', async () => {
    const pages: Record<string, object> = {
      '/deploys?active=true&limit=200': { items: [{ id: 'new', serviceId: 'b' }], page: { nextCursor: 'older' } },
      '/deploys?active=true&limit=200&cursor=older': {
        items: [{ id: 'old', serviceId: 'a' }],
        page: { nextCursor: null },
      },
    };
    const shown: { services: { active: unknown }[] }[] = [];
    await status({
      client: async () => ({ get: async (path: string) => pages[path] ?? { items: [] } }),
      services: async () => [{ id: 'a', liveDeploymentId: null }],
      options: {},
      json: true,
      terminal: { json: (document: never) => shown.push(document) },
    } as unknown as Cli);
    expect(shown[0]?.services[0]?.active).to.deep.equal({ id: 'old', serviceId: 'a' });
  });

  it('says of a name that is taken what can be done with the service that has it', () => {
    const taken = (sourceType: string) =>
      nameTaken({ name: 'shop', configuration: { sourceType } as Service['configuration'] });
    expect(taken('push').message).to.match(/already: link this folder to it with rnv init --service shop, or choose/);
    expect(taken('repository').message).to.match(/already: deploy it with rnv deploy --service shop, or choose/);
    expect(taken('image').exitCode).to.equal(6);
  });

  it('finds a service by id, by name, then by its name in addresses; several of one name are refused', () => {
    const service = (id: string, name: string, internalHost: string) => ({ id, name, internalHost }) as Service;
    const services = [service('1', 'shop', 'shop-a'), service('2', 'shop', 'shop-b'), service('3', 'Mail', 'mail')];
    expect(pickService(services, '2').id).to.equal('2');
    expect(pickService(services, 'Mail').id).to.equal('3');
    expect(pickService(services, 'mail').id).to.equal('3');
    expect(() => pickService(services, 'shop')).to.throw(/Several.*\n.*1 .*shop-a\n.*2 /);
    expect(() => pickService(services, 'none')).to.throw(/no service none/);
  });
});
