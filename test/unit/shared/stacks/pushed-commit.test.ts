import { expect } from 'chai';
import { planStack } from '../../../../shared/stacks/plan.js';
import {
  type PushedCommit,
  pushedServices,
  repositoryKey,
  stackNameOf,
  withCommit,
} from '../../../../shared/stacks/pushed-commit.js';
import { readDocument } from '../../../../shared/stacks/read-document.js';
import { carryOut, EMPTY, STACK_ID } from './carry-out.js';

const SHOP = 'https://git.example.com/team/shop.git';
const COMMIT: PushedCommit = {
  repository: repositoryKey(SHOP),
  branch: 'main',
  sha: 'a'.repeat(40),
  excluded: new Set(),
};

describe('A pushed commit', () => {
  it('names its repository without what differs between addresses, and the stack by its last part', () => {
    for (const address of [SHOP, 'https://user:token@git.example.com/team/shop', 'git@git.example.com:team/shop.git'])
      expect(repositoryKey(address), address).to.equal('git.example.com/team/shop');
    expect(repositoryKey('https://git.example.com/team/other')).to.not.equal(COMMIT.repository);
    expect(stackNameOf(SHOP)).to.equal('shop');
    expect(stackNameOf('https://git.example.com/My.Shop/')).to.equal('my-shop');
    expect(stackNameOf('https://git.example.com/')).to.match(/^[a-z0-9-]+$/);
    expect(stackNameOf('')).to.equal('stack');
  });

  const document = (fields: Record<string, string> = {}) =>
    JSON.stringify({
      services: {
        web: { kind: 'web', repository: SHOP, autoDeploy: 'commit', ...fields },
        api: { kind: 'private', repository: 'https://token@git.example.com/team/shop', autoDeploy: 'commit' },
        off: { kind: 'web', repository: SHOP },
        branch: { kind: 'web', repository: SHOP, autoDeploy: 'commit', branch: 'dev' },
        other: { kind: 'web', repository: 'https://git.example.com/team/other.git', autoDeploy: 'commit' },
        image: { kind: 'web', sourceType: 'image', image: 'nginx:1', autoDeploy: 'commit' },
        gone: { kind: 'web', repository: SHOP, autoDeploy: 'commit', archived: true },
      },
    });
  const plan = (text: string, state = EMPTY) =>
    planStack({ stackId: STACK_ID, wish: readDocument(text, []).wish, state, values: {} });
  const applied = () => carryOut(EMPTY, plan(document()).plan.steps);
  const deploys = (text: string, state = EMPTY, commit = COMMIT) => {
    const found = plan(text, state);
    return withCommit(found.plan, found.matches, commit);
  };

  it('is deployed by each service of its repository and branch with autoDeploy, and by no other', () => {
    const unchanged = deploys(document(), applied());
    expect(unchanged.changes).to.deep.equal([]);
    expect(unchanged.deploys).to.deep.equal(['web', 'api']);
    const commit = { branch: 'main', sha: COMMIT.sha, once: true };
    expect(unchanged.steps).to.deep.equal([
      { op: 'service.deploy', service: 'web', commit },
      { op: 'service.deploy', service: 'api', commit },
    ]);
    const excluded = { ...COMMIT, excluded: new Set(['web']) };
    expect(deploys(document(), applied(), excluded).deploys).to.deep.equal(['api']);
  });

  it('is what services deploy that the plan deploys anyway, once and before anything is deleted', () => {
    const created = deploys(document());
    const pinned = created.steps.flatMap((step) => (step.op === 'service.deploy' ? [step] : []));
    expect(pinned.map(({ service }) => service)).to.deep.equal(plan(document()).plan.deploys);
    const once = pinned.map(({ service, commit }) => `${service} ${commit?.once}`);
    expect(once).to.include.members(['web false', 'api false', 'off false', 'other undefined', 'branch undefined']);
    const shorter = JSON.parse(document({ buildCommand: 'make' }));
    delete shorter.services.off;
    const steps = deploys(JSON.stringify(shorter), applied()).steps.map(
      (step) => `${step.op} ${'service' in step ? step.service : ''}`,
    );
    expect(steps).to.deep.equal(['service.update web', 'service.deploy web', 'service.deploy api', 'service.delete ']);
  });

  it('is not deployed by a service that is suspended', () => {
    const state = applied();
    const suspended = {
      ...state,
      services: state.services.map((one) => ({ ...one, lifecycle: 'suspended' as const })),
    };
    const { plan: found, matches } = plan(document(), suspended);
    expect(pushedServices(found, matches, COMMIT)).to.deep.equal([]);
  });
});
