import { expect } from 'chai';
import { type DataFacts, restoreMisfit } from '../../../../shared/backups/restore-fit.js';

const POSTGRES: DataFacts = { kind: 'postgres', version: '18', storageBytes: 1000, volumes: [] };
const WEB: DataFacts = { kind: 'web', version: '', storageBytes: 0, volumes: [{ name: 'data', size_gb: 2 }] };

describe('A backup of another service', () => {
  it('fits into a database of the same engine and version with room for it', () => {
    expect(restoreMisfit(POSTGRES, POSTGRES, 1000)).to.equal(null);
    expect(restoreMisfit(POSTGRES, { ...POSTGRES, kind: 'redis', version: '' }, 1)).to.contain('of kind redis');
    expect(restoreMisfit(POSTGRES, WEB, 1)).to.contain('of kind web');
    expect(restoreMisfit(WEB, POSTGRES, 1)).to.contain('of kind postgres');
    expect(restoreMisfit(POSTGRES, { ...POSTGRES, version: '17' }, 1)).to.contain('PostgreSQL 18');
    expect(restoreMisfit(POSTGRES, POSTGRES, 1001)).to.contain('choose a larger plan');
  });

  it('fits into a service of any other kind with the same volumes, of the same size or larger', () => {
    const worker = (...volumes: DataFacts['volumes']): DataFacts => ({ ...WEB, kind: 'worker', volumes });
    expect(restoreMisfit(WEB, worker({ name: 'more', size_gb: 1 }, { name: 'data', size_gb: 2 }), 5000)).to.equal(null);
    expect(restoreMisfit(WEB, worker({ name: 'other', size_gb: 2 }), 1)).to.contain('no volume data');
    expect(restoreMisfit(WEB, worker({ name: 'data', size_gb: 1 }), 1)).to.contain('has 1 GB');
  });
});
