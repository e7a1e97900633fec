import { expect } from 'chai';
import {
  type DiskRoom,
  isOverBound,
  mostOfRun,
  roomState,
  type Use,
  type Writer,
  writerToEnd,
} from '../../../../workers/sandbox/disk-model.js';

const GB = 1024 ** 3;
/** A disk with 100 GB and a million inodes, of which 2 GB and 50,000 are reserved. */
const room = (changes: Partial<DiskRoom> = {}): DiskRoom => ({
  freeBytes: 50 * GB,
  totalBytes: 100 * GB,
  freeFiles: 500_000,
  totalFiles: 1_000_000,
  ...changes,
});
const writer = (id: string, isRun: boolean, grown: Partial<Use>, used: Partial<Use> = grown): Writer => ({
  id,
  isRun,
  grown: { bytes: 0, files: 0, ...grown },
  used: { bytes: 0, files: 0, ...used },
  most: isRun ? mostOfRun() : null,
});

describe('The room on the disk', () => {
  const states: [name: string, changes: Partial<DiskRoom>, state: string][] = [
    ['enough', {}, 'enough'],
    ['less than twice the reserve', { freeBytes: 3 * GB }, 'low'],
    ['few inodes', { freeFiles: 99_000 }, 'low'],
    ['a part of the reserve', { freeBytes: 1.9 * GB }, 'bytes'],
    ['inodes of the reserve', { freeFiles: 49_999 }, 'files'],
    ['a file system without a number of inodes', { freeFiles: 0, totalFiles: 0 }, 'enough'],
    ['a twentieth of a small disk', { totalBytes: 10 * GB, freeBytes: 1.1 * GB }, 'enough'],
  ];
  for (const [name, changes, state] of states) {
    it(`is "${state}": ${name}`, () => expect(roomState(room(changes))).to.equal(state));
  }

  it('is made by ending the writer that has grown most', () => {
    const scarce = room({ freeBytes: GB });
    const writers = [
      writer('large', false, { bytes: GB / 4 }, { bytes: 20 * GB }),
      writer('fast', false, { bytes: GB }),
      writer('build', true, { bytes: GB / 2 }),
    ];
    expect(writerToEnd(writers, scarce)).to.equal('fast');
    expect(writerToEnd(writers, room({ freeBytes: 3 * GB }))).to.equal(null);
  });

  it('is made by ending the writer of most files, if inodes are scarce', () => {
    const writers = [writer('bytes', true, { bytes: 9 * GB }), writer('files', false, { files: 40_000 })];
    expect(writerToEnd(writers, room({ freeFiles: 10 }))).to.equal('files');
  });

  it('ends no service that has hardly grown, but the largest build', () => {
    const service = writer('service', false, { bytes: GB / 100 }, { bytes: 50 * GB });
    expect(writerToEnd([service], room({ freeBytes: GB }))).to.equal(null);
    const builds = [writer('small', true, {}, { bytes: 1 }), writer('build', true, {}, { bytes: GB })];
    expect(writerToEnd([service, ...builds], room({ freeBytes: GB }))).to.equal('build');
  });

  it('is taken by a build up to its bound, and by a replica without one', () => {
    expect(isOverBound(writer('build', true, { bytes: 7 * GB }))).to.equal(false);
    expect(isOverBound(writer('build', true, { bytes: 7 * GB + 1 }))).to.equal(true);
    expect(isOverBound(writer('build', true, { files: 2_000_001 }))).to.equal(true);
    expect(isOverBound(writer('replica', false, { bytes: 70 * GB }))).to.equal(false);
  });
});
