import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { diskRoom } from '../../workers/sandbox/disk-guard.js';
import { canMountImages } from '../../workers/volumes/volume-image.js';
import { act, deploy, type Service } from '../support/deployments.js';
import type { Platform } from '../support/platform.js';
import { eventually } from '../support/processes.js';
import { takeBackup } from './backups.js';
import { answering } from './cases-hosted.js';
import { memoryOf } from './cases-remote.js';
import { type CaseContext, type HostileCase, harmed, hostileCase, NOT_LIVE, unless } from './hostile-case.js';
import type { HostileTenant } from './hostile-tenant.js';

const VOLUME = { name: 'data', mountPath: '/data', sizeGb: 1 };
const STARTER = { plan: 'starter' };
/** More than the volume holds. On hosts that cannot limit volumes, the application stops here. */
const MAX_BYTES = 1_300_000_000;
const MAX_FILES = 150_000;
const BACKUP_MS = 300_000;
const WATCH_MS = 200;
/** Memory that a backup may take, whatever its number of files. */
const MAX_BACKUP_MB = 300;
/** Bytes that the platform may write meanwhile for other work. */
const MAX_OTHERS = 400_000_000;
const ATTACK_MS = 60_000;
const GONE_MS = 60_000;
/** Bytes of a volume that has only some links and a program. */
const MAX_SMALL = 20_000_000;
/** How late an ordinary write may be while a volume is filled. */
const WRITE_MS = 5_000;
const SECRET = 'a file of the host';

const NEIGHBOUR = {
  Procfile: 'web: exec node server.js\n',
  'server.js': `require('node:http').createServer((request, response) => {
      try { require('node:fs').appendFileSync('/data/file', Buffer.alloc(1_000_000)); response.end('stored'); }
      catch (error) { response.end(error.code); }
    }).listen(process.env.PORT);`,
};

interface Volume {
  id: string;
  usedBytes: number;
}

const addVolume = ({ client }: Pick<HostileTenant, 'client'>, { id }: Service) =>
  client.expect('POST', `/services/${id}/volumes`, VOLUME);

async function volumeOf({ client }: Pick<HostileTenant, 'client'>, { id }: Service): Promise<Volume> {
  const { volumes } = await client.expect<{ volumes: Volume[] }>('GET', `/services/${id}/volumes`);
  if (volumes[0] === undefined) throw new Error('the volume is not there');
  return volumes[0];
}

/** Hosts an application with a volume. Calls `meanwhile` once it is live; resolves to null if it did not go live. */
async function attack<T>(
  { tenants: [tenant], signal }: CaseContext,
  body: string,
  meanwhile: (service: Service, ask: () => Promise<string>) => Promise<T>,
): Promise<T | null> {
  let seen: T | null = null;
  const onceLive = async (service: Service) => {
    const ask = async () => (await tenant.answerOf(service, {}, '/attack', ATTACK_MS)) ?? 'no answer';
    seen = await meanwhile(service, ask);
  };
  await tenant.host(answering(body), STARTER, signal, onceLive, (service) => addVolume(tenant, service));
  return seen;
}

async function neighbour(platform: Platform, name: string): Promise<Service> {
  const { service } = await platform.serviceOf(name, NEIGHBOUR, STARTER);
  await addVolume(platform, service);
  await deploy(platform.client, service.id);
  return service;
}

/** Takes a backup, which may fail with a clear error. Returns fault, seconds, and peak memory of API and workers. */
async function backedUp({ platform, tenants: [tenant] }: CaseContext, { id }: Service) {
  const begun = Date.now();
  const state = { isOver: false, mostMb: 0 };
  const watch = async () => {
    for (; !state.isOver; await delay(WATCH_MS)) state.mostMb = Math.max(state.mostMb, await memoryOf(platform));
  };
  const before = await memoryOf(platform);
  const watching = watch();
  const fault = await takeBackup(tenant.client, id, BACKUP_MS).then(
    () => '',
    ({ message }: Error) => unless(/^the backup failed: .{20}/.test(message), message),
  );
  state.isOver = true;
  await watching;
  return { fault, seconds: (Date.now() - begun) / 1000, moreMb: state.mostMb - before };
}

const hasFileSystems = async ({ user, dataDir }: Platform) => user === null && (await canMountImages(dataDir));

function gone({ dataDir, database }: Platform, { id }: Volume): Promise<boolean> {
  return eventually(
    `the volume ${id} is removed`,
    async () => {
      const records = await database.db('volumes').where({ id });
      const folders = (await readdir(join(dataDir, 'volumes'))).filter((name) => name.includes(id));
      const devices = await promisify(execFile)('losetup', ['-n', '-O', 'BACK-FILE']);
      if (records.length + folders.length === 0 && !devices.stdout.includes(id)) return true;
      throw new Error(`${records.length} records, ${folders.join(' ')}`);
    },
    GONE_MS,
  );
}

export const VOLUMES: readonly HostileCase[] = [
  hostileCase({
    name: 'volume: full to its last byte',
    rule: 3,
    short: true,
    run: async (context) => {
      const { platform } = context;
      const other = await neighbour(platform, 'beside-full');
      const body = `let written = 0; const chunk = Buffer.alloc(10_000_000, 1);
        // What is allocated is as full as what is written, and spares the disk of this machine.
        try { child.execFileSync('fallocate', ['-l', '900000000', '/data/allocated'], { stdio: 'ignore' }); written = 900000000; } catch {}
        try { while (written < ${MAX_BYTES}) { fs.appendFileSync('/data/big', chunk); written += chunk.length; } }
        catch (error) { return error.code; }
        return 'it has written ' + written + ' bytes';`;
      const begun = Date.now();
      const seen = await attack(context, body, async (_, ask) => {
        const before = (await diskRoom(platform.dataDir)).freeBytes;
        const answer = await ask();
        const taken = before - (await diskRoom(platform.dataDir)).freeBytes;
        return { answer, taken, stored: (await platform.visit(other)).body };
      });
      return { begun, seen, isHard: await hasFileSystems(platform) };
    },
    check: ({ begun, seen, isHard }, context) => {
      if (seen === null) return NOT_LIVE;
      const { answer, taken, stored } = seen;
      if (stored !== 'stored') return `a neighbour's volume answers ${stored}`;
      if (isHard && answer !== 'ENOSPC') return answer;
      if (isHard && taken > MAX_OTHERS) return `the disk of the platform has ${taken} bytes less`;
      return harmed(context, 'write', begun, WRITE_MS);
    },
  }),
  hostileCase({
    name: 'volume: as many files as it takes, and a backup of them',
    rule: 3,
    short: true,
    run: async (context) => {
      const { platform } = context;
      const [tenant] = context.tenants;
      const other = await neighbour(platform, 'beside-many');
      const body = `let made = 0;
        try { for (; made < ${MAX_FILES}; made++) {
          if (made % 1000 === 0) fs.mkdirSync('/data/' + made / 1000);
          fs.closeSync(fs.openSync('/data/' + Math.floor(made / 1000) + '/' + made, 'w'));
        } } catch (error) { return error.code; }
        return 'it has made ' + made + ' files';`;
      const begun = Date.now();
      const seen = await attack(context, body, async (service, ask) => {
        const answer = await ask();
        const volume = await volumeOf(tenant, service);
        await eventually('it is measured', async () => (await volumeOf(tenant, service)).usedBytes > 0, GONE_MS);
        const backup = await backedUp(context, service);
        return { answer, volume, backup, stored: (await platform.visit(other)).body };
      });
      if (seen !== null) await gone(platform, seen.volume);
      return { begun, seen, isHard: await hasFileSystems(platform) };
    },
    check: ({ begun, seen, isHard }, context) => {
      if (seen === null) return NOT_LIVE;
      if (seen.stored !== 'stored') return `a neighbour's volume answers ${seen.stored}`;
      const { answer, backup } = seen;
      if (backup.fault !== '') return backup.fault;
      if (backup.moreMb > MAX_BACKUP_MB) return `the platform took ${backup.moreMb} MB more while it copied the files`;
      return unless(!isHard || answer === 'ENOSPC', answer) || harmed(context, 'write', begun, WRITE_MS);
    },
  }),
  hostileCase({
    name: 'volume: links, pipes, devices and set-user-ID programs',
    rule: 1,
    short: true,
    run: async (context) => {
      const { platform } = context;
      const [tenant] = context.tenants;
      const folder = await mkdtemp(join(tmpdir(), 'ranvier-host-'));
      const file = join(folder, 'file');
      await writeFile(file, SECRET, { mode: 0o640 });
      const before = await stat(file);
      const body = `const tries = [];
        const attempt = (name, act) => { try { act(); tries.push(name); } catch {} };
        const run = (...argv) => child.execFileSync(argv[0], argv.slice(1), { stdio: 'ignore' });
        for (const [name, to] of [['file', '${file}'], ['folder', '${folder}'], ['root', '/'], ['self', '.'], ['up', '../../..']])
          fs.symlinkSync(to, '/data/' + name);
        run('mkfifo', '/data/pipe');
        fs.copyFileSync('/bin/sh', '/data/sh');
        fs.chmodSync('/data/sh', 0o6755);
        attempt('a device is made', () => run('mknod', '/data/disk', 'b', '254', '0'));
        attempt('a file of the host is reached by a hard link', () => fs.linkSync('${file}', '/data/hard'));
        attempt('a file of the host is read', () => fs.readFileSync('/data/file'));
        const mount = fs.readFileSync('/proc/self/mountinfo', 'utf8').split('\\n').find((line) => line.split(' ')[4] === '/data') ?? '';
        attempt('it is mounted with ' + mount, () => { if (/nosuid/.test(mount) && /nodev/.test(mount)) throw new Error(); });
        return tries.join('; ');`;
      try {
        const seen = await attack(context, body, async (service, ask) => {
          const reached = await ask();
          const { id } = await volumeOf(tenant, service);
          const used = async () => (await volumeOf(tenant, service)).usedBytes;
          const usedBytes = await eventually('it is measured', used, GONE_MS);
          // The platform sets the owner of the volume before each start.
          const restarted = await act(tenant.client, service.id, 'restart');
          return { reached, usedBytes, restarted, volume: { id, usedBytes } };
        });
        if (seen !== null) await gone(platform, seen.volume);
        const { uid, mode } = await stat(file);
        const isSame = uid === before.uid && mode === before.mode && (await readFile(file, 'utf8')) === SECRET;
        return { seen, isSame };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    check: ({ seen, isSame }) => {
      if (seen === null) return NOT_LIVE;
      if (!isSame) return 'a file of the host was changed or deleted';
      if (seen.usedBytes > MAX_SMALL) return `${seen.usedBytes} bytes are counted`;
      return seen.reached || unless(seen.restarted === 'succeeded', `a restart ${seen.restarted}`);
    },
  }),
  hostileCase({
    name: 'volume: deleted while it is written to',
    rule: 3,
    short: true,
    run: async (context) => {
      const { platform } = context;
      const [tenant] = context.tenants;
      const { client } = tenant;
      const other = context.tenants[1] ?? tenant;
      const body = `setInterval(() => fs.appendFileSync('/data/file', 'line\\n'), 5); return 'writes';`;
      const seen = await attack(context, body, async (service, ask) => {
        await ask();
        const volume = await volumeOf(tenant, service);
        const path = `/services/${service.id}/volumes/${volume.id}`;
        const remove = async (confirm = VOLUME.name) => (await client.call('DELETE', path, { confirm })).status;
        const [running, wrong] = [await remove(), await remove('another')];
        const foreign = (await other.client.call('DELETE', path, { confirm: VOLUME.name })).status;
        await act(client, service.id, 'suspend');
        return { volume, statuses: { running, wrong, foreign, suspended: await remove() } };
      });
      if (seen !== null) await gone(platform, seen.volume);
      return seen?.statuses ?? null;
    },
    check: (statuses) => {
      if (statuses === null) return NOT_LIVE;
      const { running, wrong, foreign, suspended } = statuses;
      const isRight = running === 409 && wrong === 400 && foreign === 404 && suspended === 200;
      return unless(isRight, `the deletions answered ${JSON.stringify(statuses)}`);
    },
  }),
];
