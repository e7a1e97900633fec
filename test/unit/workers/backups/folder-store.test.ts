import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { FolderStore } from '../../../../workers/backups/folder-store.js';
import { assertRoom, checkFolder } from '../../../../workers/backups/work-folders.js';
import { useFolders } from '../../../support/folders.js';
import { messageOf } from '../../../support/outcomes.js';

const NEVER = new AbortController().signal;

describe('The folder of archives', () => {
  const newFolder = useFolders();
  let dataDir: string;
  let store: FolderStore;

  beforeEach(async () => {
    dataDir = await newFolder();
    store = new FolderStore(dataDir, 'host');
  });

  const write = (name: string, content: string, signal = NEVER) => store.write(name, Readable.from([content]), signal);
  const names = async (prefix: string) => (await store.list(prefix)).map(({ name }) => name).sort();

  it('belongs to its host, returns the size, and reads an archive before and after it is published', async () => {
    expect(store.id).to.equal('folder:host');
    expect(await write('service/backup-1', 'content')).to.equal(7);
    expect(await text(await store.read('service/backup-1'))).to.equal('content');
    expect(await readdir(join(dataDir, 'backups/service')), 'not published').to.deep.equal(['backup-1.partial']);
    await store.publish('service/backup-1');
    expect(await readdir(join(dataDir, 'backups/service')), 'published').to.deep.equal(['backup-1']);
    expect(await text(await store.read('service/backup-1'))).to.equal('content');
  });

  it('keeps nothing of a write that was given up', async () => {
    expect(await messageOf(write('service/backup-1', 'content', AbortSignal.abort(new Error('given up'))))).to.equal(
      'given up',
    );
    expect(await readdir(join(dataDir, 'backups/service'))).to.deep.equal([]);
  });

  it('lists published and other archives by prefix, and removes one with its folder', async () => {
    for (const name of ['one/a-1', 'one/a-2', 'one/b-1', 'two/a-1']) await write(name, name);
    await store.publish('one/a-2');
    expect(await names('one/a-')).to.deep.equal(['one/a-1', 'one/a-2']);
    expect(await names('one')).to.deep.equal(['one/a-1', 'one/a-2', 'one/b-1']);
    expect(await names('')).to.have.length(4);
    for (const name of await names('one')) await store.remove(name);
    expect(await readdir(join(dataDir, 'backups'))).to.deep.equal(['two']);
    await store.remove('one/a-1');
    expect(await messageOf(store.read('one/a-1'))).to.match(/not in the backup store any more/);
  });

  it('is not filled by a backup for which the disk has no room', async () => {
    await assertRoom(dataDir, 0, 'a test');
    expect(await messageOf(assertRoom(dataDir, 2 ** 60, 'a test'))).to.match(
      /too full: a test needs up to 1099511627776.0 MB/,
    );
  });

  it('has a folder of its own for the check of each claim', () => {
    const folders = [1, 2].map((fence) => checkFolder('/data', { id: 'backup', fence }));
    expect(folders).to.deep.equal(['/data/backup-checks/backup-1', '/data/backup-checks/backup-2']);
  });
});
