import { expect } from 'chai';
import { estimatedMonthly, PLANS } from '../../../../shared/services/plan-catalog.js';
import type { WorkspaceRow } from '../../../../shared/workspaces/model.js';
import { buildMinutes } from '../../../../shared/workspaces/plan-usage.js';
import { workspaceOf } from '../../../../shared/workspaces/store.js';
import {
  assertBuildMinutesLeft,
  assertRoomForService,
  assertWithinBudget,
} from '../../../../shared/workspaces/workspace-limits.js';
import { makeService, makeWorkspace } from '../../../support/factories.js';
import { codeOf } from '../../../support/outcomes.js';
import { useTestDatabase } from '../../../support/postgres.js';
import { endedBuild, updateRow } from '../../../support/records.js';

const [FREE] = PLANS;
const PAID = PLANS.find((plan) => estimatedMonthly('web', plan.id, 1).usd > 0);

describe('The limits of a workspace', () => {
  const database = useTestDatabase();

  it('a plan holds exactly as many services as it names', async () => {
    const workspace = await makeWorkspace(database.db);
    const limit = FREE?.workspaceLimit ?? 0;
    expect(limit).to.be.greaterThan(0);
    const check = () => codeOf(database.db.transaction((trx) => assertRoomForService(trx, workspace)));
    const { configuration } = await makeService(database.db, workspace);
    await database.db.raw(
      `insert into services (id, workspace_id, name, slug, kind, configuration)
       select gen_random_uuid(), ?, 'x', 'bulk-' || n, 'web', ? from generate_series(3, ?) n`,
      [workspace.id, configuration, limit],
    );
    expect(await check()).to.equal('done');
    const last = await makeService(database.db, workspace);
    expect(await check()).to.equal('capacity_exceeded');
    await database.db('services').where({ id: last.id }).update({ deleted_at: new Date() });
    expect(await check()).to.equal('done');
  });

  async function built(workspace: WorkspaceRow, minutes: number, month: 'this' | 'earlier'): Promise<void> {
    const service = await makeService(database.db, workspace);
    const now = new Date();
    const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (month === 'this' ? 0 : 1));
    await endedBuild(database.db, service.id, new Date(start), new Date(start + minutes * 60_000));
  }

  it('builds stop when the minutes of the month are used up, unless overages are allowed', async () => {
    const limit = FREE?.buildMinutes ?? 0;
    const workspace = await makeWorkspace(database.db);
    const check = () =>
      codeOf(
        database.db.transaction((trx) =>
          workspaceOf(trx, workspace.id).then((now) => assertBuildMinutesLeft(trx, now)),
        ),
      );
    await built(workspace, limit, 'earlier');
    expect(await buildMinutes(database.db, workspace.id)).to.equal(0);
    await built(workspace, limit - 1, 'this');
    expect(await check()).to.equal('done');
    await built(workspace, 1, 'this');
    expect(await buildMinutes(database.db, workspace.id)).to.equal(limit);
    expect(await check()).to.equal('capacity_exceeded');
    await updateRow(database.db, 'workspaces', workspace.id, { configuration: { allowOverages: true } });
    expect(await check()).to.equal('done');
  });

  it('the costs may reach the budget and not pass it', async () => {
    if (!PAID) throw new Error('no plan costs anything');
    const price = estimatedMonthly('web', PAID.id, 1).usd;
    const check = async (budget: number, allowOverages = false) => {
      const workspace = await makeWorkspace(database.db, { budget, allowOverages });
      await makeService(database.db, workspace, { plan: PAID.id });
      const service = await makeService(database.db, workspace, { plan: PAID.id });
      return codeOf(database.db.transaction((trx) => assertWithinBudget(trx, service, { plan: PAID.id, replicas: 1 })));
    };
    expect(await check(2 * price)).to.equal('done');
    expect(await check(2 * price - 1)).to.equal('billing_required');
    expect(await check(2 * price - 1, true)).to.equal('done');
    expect(await check(0), 'no budget').to.equal('done');
  });
});
