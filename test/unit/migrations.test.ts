import { expect } from 'chai';
import { type Checksums, faultsOfMigrations, readChecksums, readMigrations } from '../support/migration-checksums.js';

describe('Migrations', () => {
  it('are as they were when they landed, and each has a timestamp of its own', async () => {
    const found = await readMigrations();
    expect(Object.keys(found)).to.have.length.greaterThan(10);
    expect(faultsOfMigrations(await readChecksums(), found)).to.deep.equal([]);
  });
});

describe('The check of migrations', () => {
  const landed: Checksums = { '20260101000000_a': '1', '20260101000100_b': '2' };

  it('accepts what landed', () => expect(faultsOfMigrations(landed, landed)).to.deep.equal([]));

  it('refuses an edited one', () => {
    expect(faultsOfMigrations(landed, { ...landed, '20260101000000_a': '3' }).join()).to.match(/^\d{14}_a was edited/);
  });

  it('refuses a removed one', () => {
    expect(faultsOfMigrations(landed, { '20260101000000_a': '1' }).join()).to.match(/^\d{14}_b was removed/);
  });

  it('refuses one without a checksum, and names the command that adds it', () => {
    const faults = faultsOfMigrations(landed, { ...landed, '20260101000200_c': '3' });
    expect(faults.join()).to.match(/^\d{14}_c has no checksum.*npm run migration:record/);
  });

  it('refuses two with the same timestamp', () => {
    const found = { ...landed, '20260101000100_c': '3' };
    expect(faultsOfMigrations(found, found)).to.deep.equal([
      '20260101000100_b and 20260101000100_c share a timestamp: give the newer one a later timestamp.',
    ]);
  });
});
