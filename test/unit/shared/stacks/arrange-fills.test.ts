import { expect } from 'chai';
import { stringify } from 'yaml';
import { arrangeFills, type Fill } from '../../../../shared/stacks/arrange-fills.js';
import { stepName } from '../../../../shared/stacks/model.js';
import { planStack } from '../../../../shared/stacks/plan.js';
import { readDocument } from '../../../../shared/stacks/read-document.js';
import { EMPTY, STACK_ID } from './carry-out.js';

const DOCUMENT = {
  services: {
    web: {
      kind: 'web',
      repository: 'https://git.example.com/a.git',
      volumes: { data: { mountPath: '/d', sizeGb: 1 } },
    },
    jobs: { kind: 'worker', repository: 'https://git.example.com/a.git' },
  },
  databases: { db: { kind: 'postgres' }, old: { kind: 'redis', archived: true } },
};
const fill = (service: string, isDatabase: boolean): Fill => ({ service, isDatabase, from: 'a', backupId: 'b' });

describe('The restores of a plan', () => {
  const { plan } = planStack({
    ...{ stackId: STACK_ID, wish: readDocument(stringify(DOCUMENT), ['example.test']).wish, state: EMPTY, values: {} },
  });
  const arranged = (fills: Fill[], deploy: boolean) => arrangeFills(plan, fills, deploy);
  const shown = (fills: Fill[], deploy: boolean) =>
    arranged(fills, deploy)
      .steps.filter(({ op }) => op === 'service.deploy' || op === 'service.restore')
      .map((step) => `${step.op} ${stepName(step)}`);

  it('come after the databases run and before anything uses the data', () => {
    expect(shown([fill('web', false), fill('db', true)], true)).to.deep.equal([
      ...[
        'service.deploy db',
        'service.restore web',
        'service.restore db',
        'service.deploy web',
        'service.deploy jobs',
      ],
    ]);
  });

  it('deploy only databases if nothing shall be deployed', () => {
    const fills = [fill('web', false), fill('db', true)];
    expect(shown(fills, false)).to.deep.equal(['service.deploy db', 'service.restore web', 'service.restore db']);
    expect(arranged(fills, false).deploys).to.deep.equal(['db']);
    expect(shown([], false)).to.deep.equal([]);
  });

  it('leave out a database that does not run, with a warning', () => {
    expect(shown([fill('old', true)], false)).to.deep.equal([]);
    expect(arranged([fill('old', true)], false).warnings).to.include('old is not deployed, so it stays empty');
  });
});
