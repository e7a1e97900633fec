import { expect } from 'chai';
import {
  decideVolume,
  fileSystemUsedBytes,
  GIGABYTE,
  type ObservedVolume,
  volumeState,
} from '../../../../workers/volumes/volume-model.js';

const MINE = { serviceId: 'service-1', name: 'uploads' };
const FRESH: ObservedVolume = { made: false, marker: null, hasImage: false, hasContent: false, canMount: true };
const USED: ObservedVolume = { made: true, marker: 'service-1', hasImage: true, hasContent: true, canMount: true };

describe('What is done with a volume before it is mounted', () => {
  it('makes a file system if the host can mount it, else a folder that is counted', () => {
    expect(decideVolume(FRESH, MINE).type).to.equal('makeImage');
    expect(decideVolume({ ...FRESH, canMount: false }, MINE).type).to.equal('makeFolder');
    // An earlier attempt was interrupted before it wrote the marker.
    expect(decideVolume({ ...FRESH, hasImage: true, hasContent: true }, MINE).type).to.equal('makeImage');
  });

  it('uses what is there, whatever the host could make now', () => {
    expect(decideVolume(USED, MINE).type).to.equal('useImage');
    expect(decideVolume({ ...USED, hasImage: false }, MINE).type).to.equal('useFolder');
    expect(decideVolume({ ...USED, hasImage: false, canMount: false }, MINE).type).to.equal('useFolder');
  });

  it('never replaces content that is missing, foreign or cannot be mounted by an empty volume', () => {
    for (const observed of [
      { ...USED, marker: null },
      { ...USED, marker: 'service-2' },
      { ...USED, canMount: false },
      { ...USED, hasImage: false, hasContent: false },
      { ...FRESH, marker: 'service-2' },
    ]) {
      expect(decideVolume(observed, MINE).type, JSON.stringify(observed)).to.equal('refuse');
    }
  });
});

describe('How full a volume is', () => {
  it('is said from 90 per cent on; a folder is full from 110 per cent on, a file system never', () => {
    const at = (percent: number, hard: boolean) => volumeState((percent / 100) * 2 * GIGABYTE, 2, hard);
    expect([0, 89, 90, 109, 110, 500].map((percent) => at(percent, false))).to.deep.equal([
      ...['open', 'open', 'nearly_full', 'nearly_full', 'full', 'full'],
    ]);
    expect([0, 89, 90, 100].map((percent) => at(percent, true))).to.deep.equal([
      ...['open', 'open', 'nearly_full', 'nearly_full'],
    ]);
  });
});

describe('What a file system says of itself', () => {
  const beginning = (fields: Record<number, number>) => {
    const buffer = Buffer.alloc(2048);
    buffer.writeUInt16LE(0xef53, 1024 + 56);
    for (const [at, value] of Object.entries(fields)) buffer.writeUInt32LE(value, 1024 + Number(at));
    return buffer;
  };

  it('is the bytes that it holds, without its own tables', () => {
    // 16,384 blocks of 4 KiB, of which 13,295 are free and 3,083 are its own.
    expect(fileSystemUsedBytes(beginning({ 4: 16_384, 12: 13_295, 24: 2, 584: 3083 }))).to.equal(6 * 4096);
    expect(fileSystemUsedBytes(beginning({ 4: 16_384, 12: 16_384, 24: 2, 584: 1 }))).to.equal(0);
  });

  it('is nothing if it is another one, or if it does not say how many are its own', () => {
    expect(fileSystemUsedBytes(beginning({ 4: 16_384, 12: 13_295, 24: 2 }))).to.equal(null);
    expect(fileSystemUsedBytes(Buffer.alloc(2048))).to.equal(null);
    expect(fileSystemUsedBytes(beginning({ 584: 1 }).subarray(0, 1200))).to.equal(null);
  });
});
