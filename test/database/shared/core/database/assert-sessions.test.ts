import { access, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { assertSessions } from '../../../../../shared/core/database/assert-sessions.js';
import { failureOf } from '../../../../support/outcomes.js';
import { openTestPostgres, useTestDatabase } from '../../../../support/postgres.js';
import { freePorts, PlatformProcess } from '../../../../support/processes.js';

const PGBOUNCER = '/usr/sbin/pgbouncer';
/** PgBouncer refuses to run as root. */
const USER = 65_534;

describe('A pooler before PostgreSQL', () => {
  const database = useTestDatabase();
  const poolers: PlatformProcess[] = [];
  let dir: string;

  before(async function () {
    await access(PGBOUNCER).catch(() => this.skip());
    dir = await mkdtemp(join(tmpdir(), 'ranvier-pooler-'));
    await chmod(dir, 0o755);
    await openTestPostgres();
  });
  after(async () => {
    for (const pooler of poolers) await pooler.stop();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  });

  async function startPooler(mode: 'session' | 'transaction', roundRobin = 0): Promise<string> {
    const [port = 0] = await freePorts(1);
    const { searchParams, hostname, port: server, username, password, pathname } = new URL(database.url);
    const host = searchParams.get('host') ?? hostname;
    const settings = join(dir, `${port}.ini`);
    await writeFile(
      settings,
      `[databases]
       ${pathname.slice(1)} = host=${host} port=${server || 5432} user=${username} password=${password}
       [pgbouncer]
       listen_addr = 127.0.0.1
       listen_port = ${port}
       unix_socket_dir =
       auth_type = any
       pool_mode = ${mode}
       server_round_robin = ${roundRobin}`,
    );
    const pooler = new PlatformProcess(
      'pooler',
      'setpriv',
      [`--reuid=${USER}`, '--clear-groups', PGBOUNCER, settings],
      {},
    );
    poolers.push(pooler);
    await pooler.ready(async () => pooler.output.includes('process up'));
    return `postgres://any@127.0.0.1:${port}${pathname}`;
  }

  it('is accepted if a connection keeps its session', async () => {
    await assertSessions(database.url);
    await assertSessions(await startPooler('session'));
  });

  for (const roundRobin of [0, 1]) {
    it(`is refused if each transaction may get another session (server_round_robin = ${roundRobin})`, async () => {
      const url = await startPooler('transaction', roundRobin);
      const failure = await failureOf(assertSessions(url));
      expect(failure.message).to.match(/transaction pooling.*pool_mode = session/);
    });
  }
});
