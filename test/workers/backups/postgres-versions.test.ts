import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { postgresSettings } from '../../../shared/data/model.js';
import { newArchiveKey } from '../../../workers/backups/archive-cipher.js';
import { ArchiveWriter } from '../../../workers/backups/backup-archive.js';
import { checkPostgres } from '../../../workers/backups/postgres-check.js';
import { copyPostgres } from '../../../workers/backups/postgres-source.js';
import { unpackArchive } from '../../../workers/backups/read-archive.js';
import { createToolchains, type ToolchainStore } from '../../../workers/builders/toolchains/toolchain-store.js';
import { DATA } from '../../../workers/data/data-host.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { startPostgresServer } from '../../support/data-servers.js';
import { BUILD_ENVIRONMENT, hasRegistry } from '../../support/npm-registry.js';

const NEVER = new AbortController().signal;
/** 14 is the last version with the old functions for backups. TEST_POSTGRES_VERSIONS=13,14,15,16,17 tests all. */
const VERSIONS = (process.env.TEST_POSTGRES_VERSIONS ?? '14').split(',');

describe('A backup of an older PostgreSQL', function () {
  this.timeout(180_000);
  const log = createLogger('test', 'silent');
  let dataDir: string;
  let sandbox: Sandbox;
  let toolchains: ToolchainStore;

  before(async function () {
    if (!hasRegistry) this.skip();
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-versions-'));
    await chmod(dataDir, 0o711);
    sandbox = await createSandbox({ log, dataDir });
    toolchains = createToolchains({ dataDir, buildEnvironment: BUILD_ENVIRONMENT, log });
  });
  after(async () => {
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  for (const version of VERSIONS) {
    it(`of version ${version} is whole, read from its files and through the server`, async () => {
      const tool = await toolchains.providePostgres(version, { signal: NEVER, log: async () => undefined });
      const installation = toolchains.pathOf(tool);
      // The settings of a plan, which this version must know.
      const { unix_socket_directories: _, ...settings } = postgresSettings('free');
      const server = await startPostgresServer(settings, ['--data-checksums'], installation);
      try {
        const client = await server.connect();
        expect((await client.query('show server_version')).rows[0].server_version).to.match(
          new RegExp(`^${version}\\.`),
        );
        await client.query(
          'create table orders as select n as id, md5(n::text) as body from generate_series(1, 5000) n',
        );
        await client.query('create unique index on orders (id)');
        await client.end();
        for (const dataFolder of [server.dataFolder, null]) {
          const key = newArchiveKey();
          const writer = new ArchiveWriter();
          const content = buffer(writer.stream(key, Buffer.from('sealed')));
          const facts = await copyPostgres(
            { ...server, dataFolder },
            writer,
            `v${version}-${dataFolder === null}`,
            NEVER,
          );
          const createdAt = new Date().toISOString();
          await writer.finish({
            kind: 'postgres',
            version,
            serviceId: 's',
            backupId: 'b',
            createdAt,
            facts: { ...facts },
          });
          const folder = join(dataDir, `check-${version}-${dataFolder === null}`);
          await mkdir(join(folder, DATA), { recursive: true, mode: 0o700 });
          const manifest = await unpackArchive(Readable.from([await content]), key, join(folder, DATA), NEVER);
          const figures = await checkPostgres(
            {
              id: `backup-check-${process.pid}-${version}-${dataFolder === null}`,
              sandbox,
              folder,
              userNumber: 9,
              limits: { memoryMb: 1024, cpu: 2, pids: 100 },
              tools: [installation],
              limitMs: 120_000,
              signal: NEVER,
            },
            manifest,
            { durable: false },
          );
          expect(figures).to.include({ tables: 1, rows: 5000 });
          expect(figures.indexes).to.be.greaterThan(100);
        }
      } finally {
        await server.stop();
      }
    });
  }
});
