import { expect } from 'chai';
import { readCanvas, replaceLayout } from '../../../../../api/resources/canvas/store.js';
import { makeService, makeWorkspace } from '../../../../support/factories.js';
import { useTestDatabase } from '../../../../support/postgres.js';

describe('The layout of a canvas', () => {
  const database = useTestDatabase();

  it('is replaced by a save of the revision that it has, and by no other', async () => {
    const { id: workspaceId } = await makeWorkspace(database.db);
    const scope = { workspaceId, projectId: null, environmentId: null };
    const save = (revision: number) =>
      database.db.transaction((trx) => replaceLayout(trx, scope, { revision, positions: {}, viewport: null }));
    expect(await save(1)).to.equal(false);
    expect(await save(0)).to.equal(true);
    expect(await save(0)).to.equal(false);
    expect(await save(1)).to.equal(true);
    expect(await save(1)).to.equal(false);
    expect((await readCanvas(database.db, scope)).layout.revision).to.equal(2);
  });

  it('is of one workspace, and shows no service that is archived', async () => {
    const workspace = await makeWorkspace(database.db);
    const [shown, archived] = [await makeService(database.db, workspace), await makeService(database.db, workspace)];
    await makeService(database.db);
    await database.db('services').where({ id: archived.id }).update({ archived: true });
    const scope = { workspaceId: workspace.id, projectId: null, environmentId: null };
    const { services } = await readCanvas(database.db, scope);
    expect(services.map(({ id }) => id)).to.deep.equal([shown.id]);
  });
});
