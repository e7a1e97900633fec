import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Transaction } from '../../../shared/core/database/database-client.js';
import type { LogLine } from '../../../shared/logs/model.js';
import { Masker } from '../../../workers/masking/masker.js';
import type { ReplicaRow } from '../../../workers/replicas/rows.js';
import { LogTail } from '../../../workers/runtime/process/log-tail.js';
import { LAST_BYTES } from '../../../workers/runtime/process/replica-files.js';
import { TestHost } from './host.js';

describe('Log tail', () => {
  let host: TestHost;
  let row: ReplicaRow;
  let file: string;
  let lines: string[];
  let failures = 0;

  before(async () => {
    host = await TestHost.create();
  });
  after(() => host.destroy());

  beforeEach(async () => {
    const spec = await host.app({ kind: 'worker' });
    const driver = await host.runtime({ asksOnly: true });
    await driver.release(spec, AbortSignal.timeout(1)).catch(() => undefined);
    const [found] = await host.replicas(spec);
    if (!found) throw new Error('no replica');
    row = found;
    file = join(host.config.dataDir, `${row.id}.log`);
    lines = [];
    await writeFile(file, '');
  });

  function tail(offset = 0, masker = new Masker(['hunter22'])): LogTail {
    const append = async (batch: { lines: LogLine[] }, _trx: Transaction) => {
      if (failures-- > 0) throw new Error('the log is away');
      lines.push(...batch.lines.map((line) => line.message));
    };
    return new LogTail({ db: host.database.db, logs: { append } }, { ...row, log_offset: offset }, { file, masker });
  }

  it('stores whole lines with their secrets masked; an incomplete line waits for its end or for the end of the process', async () => {
    const tailing = tail();
    await appendFile(file, 'one\nthe password is hunter22\nbeg');
    await tailing.follow(false);
    expect(lines).to.deep.equal(['one', 'the password is ***']);
    await appendFile(file, 'un\nlast');
    await tailing.follow(false);
    await tailing.follow(true);
    expect(lines.slice(2)).to.deep.equal(['begun', 'last']);
  });

  it('stores a line again only if storing it failed', async () => {
    const tailing = tail();
    await appendFile(file, 'one\n');
    failures = 1;
    const failed = await tailing.follow(false).catch((error: Error) => error.message);
    expect(failed).to.equal('the log is away');
    await tailing.follow(false);
    expect(lines).to.deep.equal(['one']);
  });

  it('stores nothing if another supervisor has moved the mark', async () => {
    await appendFile(file, 'one\n');
    const [first, second] = [tail(), tail()];
    expect(await first.follow(false)).to.equal(true);
    expect(await second.follow(false)).to.equal(false);
    expect(lines).to.deep.equal(['one']);
  });

  it('gives disk space back and loses no line of a long output', async function () {
    if (process.platform !== 'linux') this.skip();
    const tailing = tail();
    const text = `${'x'.repeat(1023)}\n`.repeat(1024);
    for (let megabytes = 0; megabytes < 20; megabytes++) {
      await appendFile(file, text);
      await tailing.follow(false);
      const end = (await readFile(file)).subarray(-LAST_BYTES);
      expect(end.includes(0), 'the last output, which an error quotes, stays').to.equal(false);
    }
    expect(lines).to.have.length(20 * 1024);
    const { size, blocks } = await stat(file);
    expect(size).to.equal(20 * 1024 * 1024);
    expect(blocks * 512).to.be.lessThan(14 * 1024 * 1024);
    await appendFile(file, 'after\n');
    await tailing.follow(true);
    expect(lines.at(-1)).to.equal('after');
  });

  it('tears no secret apart, however long it is and in however many pieces it comes', async () => {
    const secret = Array.from({ length: 8000 }, (_, i) => `s${i}é`).join('-');
    const tailing = tail(0, new Masker([secret, 'hunter22']));
    await appendFile(
      file,
      Buffer.concat([Buffer.alloc(16_380, 'x'), Buffer.from('hunter22'), Buffer.alloc(80_000, 'y')]),
    );
    await tailing.follow(false);
    const bytes = Buffer.from(secret);
    for (let at = 0; at < bytes.length; at += 7001) {
      await appendFile(file, bytes.subarray(at, at + 7001));
      await tailing.follow(false);
    }
    await appendFile(file, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.alloc(70_000, 'z'), Buffer.from('hunt')]));
    await tailing.follow(false);
    await appendFile(file, 'er22');
    await tailing.follow(true);
    expect(lines.join('').replace(/(\*\*\*)+/g, '*')).to.match(/^x{16380}\*y{80000}\*\ufffd+z{70000}\*$/);
  });

  it('reads no more than its share of an endless output', async () => {
    const tailing = tail();
    await writeFile(file, Buffer.alloc(60 * 1024 * 1024, `${'x'.repeat(1023)}\n`));
    for (let looks = 0; looks < 40; looks++) await tailing.follow(false);
    expect(lines.length).to.be.within(32 * 1024, 40 * 1024);
  });

  it('leaves out the middle of an output that is far ahead, with a line that gives its size', async () => {
    const tailing = tail();
    await writeFile(file, Buffer.alloc(70 * 1024 * 1024, 'y\n'));
    await appendFile(file, 'end\n');
    await tailing.follow(true);
    expect(lines[0]).to.match(/^\d+ bytes of output are left out here/);
    expect(lines.at(-1)).to.equal('end');
    expect(lines.length).to.be.lessThan(1024 * 1024);
  });
});
