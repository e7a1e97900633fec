import { expect } from 'chai';
import { namesToRemove } from '../../../../../workers/builders/engine-images/engine-image-store.js';
import { imageAction } from '../../../../../workers/builders/result/folder-image-store.js';

const HOUR = 60 * 60_000;
const now = 100 * HOUR;
const old = now - HOUR;
const young = now - HOUR + 1;

describe('A folder in the store of images', () => {
  const isWanted = (digest: string) => digest === 'wanted';

  it('stays if a record wants it, at any age', () => {
    expect(imageAction('wanted', isWanted, 0, now)).to.equal('keep');
  });

  it('stays for an hour if no record wants it, because the record may follow', () => {
    expect(imageAction('other', isWanted, young, now)).to.equal('keep');
    expect(imageAction('other', isWanted, old, now)).to.equal('remove');
  });

  it('that was moved aside is discarded, at any age', () => {
    expect(imageAction('removed-wanted-1', isWanted, now, now)).to.equal('discard');
  });
});

describe('An unwanted image in an engine', () => {
  const names = (given: string[], storedAt = old, prefix: string | null = null) =>
    namesToRemove({ id: 'sha256:1', names: given, storedAt }, prefix, now);

  it('stays for an hour', () => {
    expect(names(['ranvier/a:1'], young)).to.deep.equal([]);
    expect(names(['ranvier/a:1'])).to.deep.equal(['ranvier/a:1']);
  });

  it('loses the names that the platform gave, and no others', () => {
    expect(names(['ranvier/a:1', 'people/own:2'])).to.deep.equal(['ranvier/a:1']);
    expect(names(['people/own:2'])).to.deep.equal([]);
    expect(names(['notranvier/a:1', 'host/ranvier/a:1'])).to.deep.equal([]);
  });

  it('loses its names in the registry of the installation', () => {
    const given = ['host:5000/x/ranvier/a:1', 'host:5000/other/ranvier/a:1', 'host:5000/x/ranvierly/a:1'];
    expect(names(given, old, 'host:5000/x/ranvier')).to.deep.equal(['host:5000/x/ranvier/a:1']);
  });

  it('without any name is removed by its id', () => {
    expect(names([])).to.deep.equal(['sha256:1']);
    expect(names(['<none>:<none>'])).to.deep.equal(['sha256:1']);
  });
});
