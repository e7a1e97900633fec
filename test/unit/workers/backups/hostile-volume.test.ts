import { link, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { DecryptArchive, newArchiveKey } from '../../../../workers/backups/archive-cipher.js';
import { ArchiveWriter } from '../../../../workers/backups/backup-archive.js';
import { copyRedis } from '../../../../workers/backups/redis-source.js';
import { localFiles } from '../../../../workers/backups/server-files.js';
import { useFolders } from '../../../support/folders.js';
import { listen } from '../../../support/http.js';
import { messageOf } from '../../../support/outcomes.js';

const KEY = newArchiveKey();
const NEVER = new AbortController().signal;
const SECRET = 'SECRETS_KEY=abc';

describe('The backup of a volume that its tenant has prepared', () => {
  const newFolder = useFolders();
  let dataDir: string;
  let data: string;
  let victim: string;

  beforeEach(async () => {
    dataDir = await newFolder();
    data = join(dataDir, 'data');
    victim = join(dataDir, 'victim');
    await mkdir(join(data, 'base'), { recursive: true });
    await writeFile(join(data, 'base', 'file'), 'of the tenant');
    await mkdir(victim);
    await writeFile(join(victim, 'file'), SECRET);
  });

  async function archived(fill: (archive: ArchiveWriter) => Promise<unknown>, archive = new ArchiveWriter()) {
    const content = buffer(archive.stream(KEY, Buffer.from('sealed'))).catch(() => null);
    const error = await messageOf(fill(archive));
    if (error !== '') archive.fail(new Error(error));
    else await archive.finish({ kind: 'redis', version: '', serviceId: 's', backupId: 'b', createdAt: '', facts: {} });
    const whole = await content;
    if (whole === null) return { text: '', error };
    const plain = new DecryptArchive(KEY);
    plain.end(whole);
    return { text: gunzipSync(await buffer(plain)).toString('latin1'), error };
  }
  const copied = (change: () => Promise<unknown>, writer = new ArchiveWriter()) =>
    archived(async (archive) => {
      const files = await localFiles(data);
      await files.list('');
      await files.list('base');
      await change();
      await files.add(archive, 'base/file', NEVER).finally(() => files.close());
    }, writer);

  it('holds the files that are there', async () => {
    expect((await copied(async () => undefined)).text).to.contain('of the tenant');
  });

  it('holds nothing of a folder that a link has replaced after it was listed', async () => {
    const { text } = await copied(async () => {
      await rename(join(data, 'base'), join(data, 'old'));
      await symlink(victim, join(data, 'base'));
    });
    expect(text).to.not.contain(SECRET);
  });

  it('holds nothing behind a link or a hard link, and nothing if the data folder itself is one', async () => {
    const file = join(data, 'base', 'file');
    for (const make of [symlink, link]) {
      const { text, error } = await copied(async () => {
        await rm(file, { force: true });
        await make(join(victim, 'file'), file);
      });
      expect(text).to.equal('');
      expect(error).to.contain('base/file').and.to.not.contain(SECRET);
    }
    await rename(data, join(dataDir, 'moved'));
    await mkdir(join(victim, 'base'));
    await writeFile(join(victim, 'base', 'file'), SECRET);
    await symlink(victim, data);
    expect((await copied(async () => undefined)).text).to.not.contain(SECRET);
  });

  it('ends if files claim more bytes than the data had', async () => {
    await truncate(join(data, 'base', 'file'), 1024 ** 4);
    const { error } = await copied(async () => undefined, new ArchiveWriter(1024 ** 2));
    expect(error).to.contain('1.0 MB');
  });

  it('ends if the names of its folders have no end', async () => {
    const { error } = await archived(async (archive) => {
      for (let depth = 1, name = ''; depth <= 1_000; depth++) {
        name += `/${'x'.repeat(250)}`;
        archive.addFolder(name.slice(1));
      }
    });
    expect(error).to.contain('names');
  });

  it('ends if a folder has more entries than an archive, while it is listed', async () => {
    const files = await localFiles(data, 10);
    for (let n = 0; n < 20; n++) await writeFile(join(data, `more-${n}`), '');
    const error = await messageOf(files.list(''));
    await files.close();
    expect(error).to.contain('10 files');
  });

  describe('of a redis', () => {
    let server: Server;
    let port: number;
    before(async () => {
      server = createServer((peer) => {
        peer.on('error', () => undefined);
        peer.on('data', (chunk) => {
          for (const command of chunk.toString().split(/^\*/m).slice(1)) peer.write(answerTo(command));
        });
      });
      port = await listen(server);
    });
    after(() => server.close());

    let saves = 0;
    function answerTo(command: string): string {
      const info = `redis_version:7.0.0\r\nrdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:0\r\nrdb_last_bgsave_status:ok\r\nrdb_saves:${++saves}\r\nloading:0\r\n`;
      if (/^info/im.test(command)) return `$${info.length}\r\n${info}\r\n`;
      if (/^config/im.test(command)) return '*2\r\n$10\r\ndbfilename\r\n$14\r\n../victim/file\r\n';
      return '+OK\r\n';
    }

    it('reads and removes no file of the host, whatever name the server says', async () => {
      const admin = { host: '127.0.0.1', port, user: 'default', password: 'a password' };
      const { text } = await archived((archive) => copyRedis({ dataFolder: data, admin }, archive, NEVER));
      expect(text).to.not.contain(SECRET);
      expect(await readFile(join(victim, 'file'), 'utf8')).to.equal(SECRET);
    });
  });
});
