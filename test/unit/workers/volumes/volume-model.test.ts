import { expect } from 'chai';
import { decideVolume, GIGABYTE, type ObservedVolume, volumeState } from '../../../../workers/volumes/volume-model.js';

const MINE = { serviceId: 'service-1', name: 'uploads' };
const FRESH: ObservedVolume = { made: false, marker: null, hasImage: false, hasContent: false, canMount: true };
const USED: ObservedVolume = { made: true, marker: 'service-1', hasImage: true, hasContent: true, canMount: true };

describe('What is done with a volume before it is mounted', () => {
  it('makes a file system if the host can mount it, else a folder that is counted', () => {
    expect(decideVolume(FRESH, MINE).type).to.equal('makeImage');
    expect(decideVolume({ ...FRESH, canMount: false }, MINE).type).to.equal('makeFolder');
    // Interrupted before the marker was written.
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
