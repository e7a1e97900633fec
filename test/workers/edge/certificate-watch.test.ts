import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { createAlert } from '../../../shared/alerts/store.js';
import { createLogger } from '../../../shared/core/log.js';
import { checkCertificates } from '../../../workers/edge/caddy/certificate-watch.js';
import { makeCertificates, NO_OPENSSL } from '../../support/certificates.js';
import { makeService } from '../../support/factories.js';
import { useTestDatabase } from '../../support/postgres.js';

const suite = NO_OPENSSL === '' ? describe : describe.skip;

suite('The certificates of domains', () => {
  const database = useTestDatabase();
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-certificates-'));
    await makeCertificates(folder, '127.0.0.1');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('are looked at once an hour where a rule watches them, and nowhere else', async () => {
    const { db } = database;
    const watched = await makeService(db);
    const other = await makeService(db);
    const domain = async (service: typeof watched, hostname: string, fields: object = {}) => {
      const own = { id: uuidv7(), workspace_id: service.workspace_id, service_id: service.id, hostname };
      await db('domains').insert({ ...own, status: 'active', ...fields });
    };
    await domain(watched, 'shop.example.com');
    await domain(watched, 'elsewhere.example.com', { leads_here: false });
    await domain(watched, 'pending.example.com', { status: 'pending' });
    await domain(other, 'other.example.com');
    const rule = {
      workspaceId: watched.workspace_id,
      serviceId: null,
      metric: 'certificate',
      above: 14,
      forMinutes: 1,
    } as const;
    await db.transaction((trx) => createAlert(trx, rule));

    const asked: string[] = [];
    const [key, cert] = await Promise.all(
      ['server-key.pem', 'server-cert.pem'].map((name) => readFile(join(folder, name))),
    );
    const SNICallback = (name: string, done: (error: null) => void) => {
      asked.push(name);
      done(null);
    };
    const server = createServer({ key, cert, SNICallback }).listen(0, '127.0.0.1');
    server.on('tlsClientError', () => undefined);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const options = { db, log: createLogger('test', 'silent'), port };
    await checkCertificates(options);
    await checkCertificates(options);
    server.close();
    expect(asked).to.deep.equal(['shop.example.com']);
    const row = await db('domains').where({ hostname: 'shop.example.com' }).first();
    const days = (row.certificate_until.getTime() - Date.now()) / 86_400_000;
    expect(days).to.be.within(1.9, 2);

    // The server is gone, so the known values stay.
    await db('domains').update({ certificate_checked_at: new Date(0) });
    await checkCertificates(options);
    const after = await db('domains').where({ hostname: 'shop.example.com' }).first();
    expect(after.certificate_until).to.deep.equal(row.certificate_until);
    expect(Date.now() - after.certificate_checked_at.getTime()).to.be.below(60_000);
  });
});
