import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { ownEnvironmentOnly } from '../../../../shared/commits/commands.js';
import { makeWorkspace } from '../../../support/factories.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { newEnvironment } from '../../../support/records.js';

describe('A deployment of a reported commit', () => {
  const database = useTestDatabase();

  async function reads(environmentId: string | null, protectedEnvironment: boolean): Promise<string> {
    const authorize = await database.db.transaction((trx) => ownEnvironmentOnly(trx, environmentId));
    try {
      authorize({ protectedEnvironment });
      return 'read';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  it('reads values of a protected environment only for a service of one', async () => {
    const { id } = await makeWorkspace(database.db);
    const guarded = await newEnvironment(database.db, id, { protected: true });
    const open = await newEnvironment(database.db, id);
    expect(await reads(guarded.environmentId, true)).to.equal('read');
    expect(await reads(open.environmentId, true)).to.equal('forbidden');
    expect(await reads(null, true)).to.equal('forbidden');
    expect(await reads(uuidv7(), true)).to.equal('forbidden');
    for (const environmentId of [guarded.environmentId, open.environmentId, null]) {
      expect(await reads(environmentId, false)).to.equal('read');
    }
  });
});
