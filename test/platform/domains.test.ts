import { once } from 'node:events';
import { request as requestTls } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { createLogger } from '../../shared/core/log.js';
import { checkCertificates } from '../../workers/edge/caddy/certificate-watch.js';
import { staticSite } from '../support/apps.js';
import { hasCaddy, startCaddy, type TestCaddy } from '../support/caddy.js';
import { createService, deploy } from '../support/deployments.js';
import { type NameServer, NO_DNSMASQ, startNameServer } from '../support/name-server.js';
import { type Authority, NO_PEBBLE, startAuthority } from '../support/pebble.js';
import { type Platform, startPlatform } from '../support/platform.js';
import { eventually, freePorts } from '../support/processes.js';
import { createPlatformRepository } from '../support/repositories.js';

const MISSING = NO_DNSMASQ || NO_PEBBLE || (hasCaddy ? '' : 'caddy is not installed');
const HOST = 'shop.test';

interface Domain {
  id: string;
  status: string;
  verification: { name: string; value: string };
}

describe(`A domain of a service${MISSING && `: ${MISSING}`}`, function () {
  this.timeout(240_000);
  let nameServer: NameServer;
  let authority: Authority;
  let caddy: TestCaddy;
  let platform: Platform;
  let tlsPort: number;

  before(async function () {
    if (MISSING !== '') this.skip();
    [tlsPort = 0] = await freePorts(1);
    nameServer = await startNameServer();
    authority = await startAuthority(nameServer.address, tlsPort);
    caddy = await startCaddy();
    platform = await startPlatform({
      engine: 'postgres',
      env: {
        ...{ EDGE: 'caddy', CADDY_ADMIN_URL: caddy.adminUrl },
        ...{ EDGE_TLS: 'acme', EDGE_TLS_PORT: String(tlsPort), ACME_CA: authority.url, ACME_CA_ROOT: authority.root },
        ...{ DNS_SERVERS: nameServer.address, EDGE_ADDRESSES: '127.0.0.1' },
      },
    });
  });
  after(async () => {
    await platform?.stop();
    await caddy?.stop();
    await authority?.stop();
    await nameServer?.stop();
  });

  async function visit(host: string) {
    const headers = { host: `${host}:${tlsPort}` };
    const outgoing = requestTls({
      port: tlsPort,
      servername: host,
      headers,
      rejectUnauthorized: false,
      agent: false,
    }).end();
    try {
      const [response] = await once(outgoing, 'response');
      const { subjectaltname, issuer } = (response.socket as TLSSocket).getPeerCertificate();
      return {
        status: response.statusCode,
        body: (await response.toArray()).join(''),
        subjectaltname,
        issuer: issuer.CN,
      };
    } catch (error) {
      return {
        status: 0,
        body: (error as NodeJS.ErrnoException).code ?? String(error),
        subjectaltname: '',
        issuer: '',
      };
    }
  }

  it('is served over HTTPS with a certificate of the authority once its owner is proven, and no other name is', async () => {
    const repository = await createPlatformRepository(staticSite('mine'));
    const service = await createService(platform.client, {
      name: 'shop',
      kind: 'static',
      configuration: { repository: repository.url },
    });
    await deploy(platform.client, service.id);
    const path = `/services/${service.id}/domains`;
    const { domain } = (await platform.client.call<{ domain: Domain }>('POST', path, { hostname: HOST })).body;
    expect((await visit(HOST)).status, 'before it is proven').to.equal(0);

    const { name, value } = domain.verification;
    await nameServer.serve({ texts: { [name]: value }, hosts: { [HOST]: '127.0.0.1' } });
    const verify = () => platform.client.call<{ domain: Domain }>('POST', `${path}/${domain.id}/verify`);
    expect((await verify()).body.domain.status).to.equal('active');
    const answer = await eventually('the domain is served', async () => {
      const seen = await visit(HOST);
      return seen.status === 200 && seen;
    });
    expect(answer.body).to.include('<h1>mine</h1>');
    expect(answer.subjectaltname).to.equal(`DNS:${HOST}`);
    expect(answer.issuer).to.match(/^Pebble/);
    expect((await visit('invented.test')).status, 'a name that nobody proved').to.equal(0);

    const { db } = platform.database;
    await platform.client.call('POST', '/alerts', { metric: 'certificate', above: 14, forMinutes: 1 });
    await checkCertificates({ db, log: createLogger('test', 'silent'), port: tlsPort });
    const row = await db('domains').where({ id: domain.id }).first();
    expect(row.certificate_until, 'what an alert rule looks at').to.be.above(new Date());

    await platform.client.call('DELETE', `${path}/${domain.id}`);
    await eventually('the domain is not served any more', async () => (await visit(HOST)).status === 404);
    await repository.remove();
  });
});
