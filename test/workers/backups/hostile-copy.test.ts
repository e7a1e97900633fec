import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { createLogger } from '../../../shared/core/log.js';
import { newArchiveKey } from '../../../workers/backups/archive-cipher.js';
import { ArchiveWriter, type Manifest } from '../../../workers/backups/backup-archive.js';
import { checkPostgres } from '../../../workers/backups/postgres-check.js';
import { copyPostgres } from '../../../workers/backups/postgres-source.js';
import { unpackArchive } from '../../../workers/backups/read-archive.js';
import { DATA } from '../../../workers/data/data-host.js';
import { createSandbox } from '../../../workers/sandbox/create-sandbox.js';
import type { Sandbox } from '../../../workers/sandbox/sandbox.js';
import { startPostgresServer, type TestPostgres } from '../../support/data-servers.js';

const KEY = newArchiveKey();
const NEVER = new AbortController().signal;

/** In a server that starts after now, each function writes a file if a superuser calls it, and fails otherwise. */
const trapsOf = (folder: string) => `
  create schema evil;
  create function evil.trap(what text) returns void language plpgsql as $$
  begin
    if pg_catalog.pg_postmaster_start_time() < '${new Date().toISOString()}' then return; end if;
    if (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
      execute pg_catalog.format('copy (select 1) to %L', '${folder}/' || what);
    else
      raise exception 'the check has called % as %', what, current_user;
    end if;
  end $$;
  create function evil.current_setting(text) returns text language plpgsql as
    $$ begin perform evil.trap('function'); return pg_catalog.current_setting($1); end $$;
  create function evil.different(oid, oid) returns boolean language plpgsql as
    $$ begin perform evil.trap('operator'); return $1 operator(pg_catalog.=) $2; end $$;
  create operator evil.= (leftarg = oid, rightarg = oid, function = evil.different);
  create function evil.fold(text) returns text immutable language plpgsql as
    $$ begin perform evil.trap('planner'); return $1; end $$;
  create function evil.key(text) returns text immutable language plpgsql as
    $$ begin perform evil.trap('index'); return $1; end $$;
  create function evil.holds(text) returns boolean immutable language plpgsql as
    $$ begin perform evil.trap('check'); return true; end $$;
  create domain evil.word as text check (evil.holds(value));
  create table notes (body evil.word, upper text generated always as (evil.key(body)) stored);
  insert into notes select n::text from generate_series(1, 100) n;
  create index on notes ((body || evil.fold('x')));
  create index on notes (evil.key(body));
  create index on notes (body) where evil.holds(body);
  create table secrets (id int primary key);
  insert into secrets select generate_series(1, 50);
  alter table secrets enable row level security;
  alter table secrets force row level security;
  create policy hidden on secrets using (evil.holds(id::text));
  create materialized view totals as select evil.key(body) as body from notes;
  create view looks as select evil.key(body) as body from notes;
  alter database shop set search_path = evil, pg_catalog;`;

/** Settings of a database that would make a check of it fail. */
const OBSTACLES = `
  alter database store set role = owner;
  alter database store set default_transaction_read_only = on;
  alter database store set statement_timeout = 1;`;

describe('The check of a copy of a hostile PostgreSQL', function () {
  this.timeout(180_000);
  let server: TestPostgres;
  let dataDir: string;
  let folder: string;
  let sandbox: Sandbox;
  let manifest: Manifest;

  before(async () => {
    server = await startPostgresServer();
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-checks-'));
    sandbox = await createSandbox({ log: createLogger('test', 'error'), dataDir });
    folder = join(dataDir, 'check');
    const admin = await server.connect();
    await admin.query('create role owner login');
    for (const name of ['shop', 'store']) await admin.query(`create database ${name} owner owner`);
    await admin.end();
    const owner = await server.connect('shop', 'owner');
    await owner.query(trapsOf(join(sandbox.pathOf({ directory: folder }), DATA)));
    await owner.query(OBSTACLES);
    await owner.end();
    const writer = new ArchiveWriter();
    const archive = buffer(writer.stream(KEY, Buffer.from('sealed')));
    const facts = await copyPostgres(server, writer, 'hostile-1', NEVER);
    const createdAt = new Date().toISOString();
    await writer.finish({
      kind: 'postgres',
      version: '18',
      serviceId: 's',
      backupId: 'b',
      createdAt,
      facts: { ...facts },
    });
    await mkdir(join(folder, DATA), { recursive: true, mode: 0o700 });
    manifest = await unpackArchive(Readable.from([await archive]), KEY, join(folder, DATA), NEVER);
  });
  after(async () => {
    await server?.stop();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  it('calls nothing that its owner has left there, and counts all the same', async () => {
    const spec = { id: `backup-check-${process.pid}-hostile`, sandbox, folder, userNumber: 7 };
    const limits = { memoryMb: 1024, cpu: 2, pids: 100 };
    const outcome = await checkPostgres(
      { ...spec, limits, tools: [server.installation], limitMs: 120_000, signal: NEVER },
      manifest,
      { durable: false },
    ).catch((error: Error) => error.message);
    const called = ['function', 'operator', 'planner', 'index', 'check'];
    expect((await readdir(join(folder, DATA))).filter((name) => called.includes(name))).to.deep.equal([]);
    expect(outcome).to.include({ databases: 4, tables: 3, rows: 250 });
  });
});
