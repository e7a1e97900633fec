import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import {
  deliveryId,
  type HookProvider,
  irrelevance,
  isGenuine,
  readEvent,
  skipsDeployment,
} from '../../../../shared/hooks/model.js';

const SHA = 'a'.repeat(40);
const BEFORE = 'b'.repeat(40);
const NOTHING = '0'.repeat(40);

const headers =
  (given: Record<string, string> = {}) =>
  (name: string) =>
    given[name] ?? '';

describe('A delivery of a hook', () => {
  const body = Buffer.from('{"ref":"refs/heads/main"}');
  const hmac = (secret: string) => createHmac('sha256', secret).update(body).digest('hex');
  const genuine = (provider: HookProvider, given: Record<string, string>, key = '') =>
    isGenuine(provider, 'secret', { headers: headers(given), body, key });

  it('is genuine if its sender knows the secret, in the way of each provider', () => {
    expect(genuine('github', { 'x-hub-signature-256': `sha256=${hmac('secret')}` })).to.equal(true);
    expect(genuine('gitea', { 'x-gitea-signature': hmac('secret') })).to.equal(true);
    expect(genuine('gitea', { 'x-forgejo-signature': hmac('secret') })).to.equal(true);
    expect(genuine('gitlab', { 'x-gitlab-token': 'secret' })).to.equal(true);
    expect(genuine('generic', {}, 'secret')).to.equal(true);
  });

  it('is refused with another secret, without one, and with that of another way', () => {
    expect(genuine('github', { 'x-hub-signature-256': `sha256=${hmac('other')}` })).to.equal(false);
    expect(genuine('github', { 'x-gitlab-token': 'secret' }, 'secret')).to.equal(false);
    expect(genuine('gitea', { 'x-gitea-signature': hmac('other') })).to.equal(false);
    expect(genuine('gitlab', { 'x-gitlab-token': 'secre' })).to.equal(false);
    for (const provider of ['github', 'gitea', 'gitlab', 'generic'] as const) {
      expect(genuine(provider, {}), provider).to.equal(false);
    }
  });

  it('has the number that its provider gives it', () => {
    expect(deliveryId('github', headers({ 'x-github-delivery': '1' }))).to.equal('1');
    expect(deliveryId('gitea', headers({ 'x-forgejo-delivery': '2' }))).to.equal('2');
    expect(deliveryId('gitlab', headers({ 'x-gitlab-event-uuid': '3', 'idempotency-key': '4' }))).to.equal('4');
    expect(deliveryId('generic', headers({ 'idempotency-key': '5'.repeat(300) }))).to.have.lengthOf(200);
    expect(deliveryId('github', headers({ 'idempotency-key': '6' }))).to.equal(null);
  });

  const push = { ref: 'refs/heads/fix/1', before: BEFORE, after: SHA, head_commit: { message: 'Fix it' } };
  const read = (payload: unknown, event = 'push') => readEvent('github', headers({ 'x-github-event': event }), payload);

  it('of a push says which branch has which commit', () => {
    const expected = { type: 'push', branch: 'fix/1', before: BEFORE, after: SHA, message: 'Fix it' };
    expect(read(push)).to.deep.equal(expected);
    const gitea = readEvent('gitea', headers({ 'x-gitea-event': 'push' }), push);
    expect(gitea).to.deep.equal(expected);
    const gitlab = { ...push, head_commit: undefined, object_kind: 'push' };
    const commits = [
      { id: BEFORE, message: 'Older' },
      { id: SHA, message: 'Fix it' },
    ];
    expect(readEvent('gitlab', headers(), { ...gitlab, commits })).to.deep.equal(expected);
  });

  it('of a new branch has no commit before it', () => {
    expect(read({ ...push, before: NOTHING })).to.include({ type: 'push', before: '' });
  });

  it('of anything else deploys nothing', () => {
    const nothing: [unknown, string?][] = [
      [push, 'issues'],
      [push, ''],
      [{ ...push, ref: 'refs/tags/v1' }],
      [{ ...push, ref: 'refs/notes/commits' }],
      [{ ...push, after: '--upload-pack=x' }],
      [{ ...push, after: 7 }],
      [null],
      ['push'],
      [[push]],
    ];
    for (const [payload, event] of nothing) {
      expect(read(payload, event), JSON.stringify(payload)).to.have.property('type', 'ignored');
    }
  });

  it('of a deleted branch names the branch, whose preview ends', () => {
    const deleted = { type: 'deleted', branch: 'fix/1' };
    expect(read({ ...push, after: NOTHING })).to.deep.equal(deleted);
    expect(read({ ...push, deleted: true })).to.deep.equal(deleted);
  });

  it('of a deploy hook deploys, whatever its body is', () => {
    expect(readEvent('generic', headers(), null)).to.deep.equal({ type: 'deploy' });
  });
});

describe('A pushed commit', () => {
  const event = { type: 'push', branch: 'main', before: '', after: SHA, message: 'Fix it' } as const;
  const service = { branch: 'main', autoDeploy: 'commit', archived: false };

  it('is looked at if the service deploys its branch by itself', () => {
    expect(irrelevance(event, service)).to.equal(null);
    expect(irrelevance(event, { ...service, archived: true })).to.contain('archived');
    expect(irrelevance(event, { ...service, autoDeploy: 'off' })).to.contain('autoDeploy');
    expect(irrelevance({ ...event, branch: 'dev' }, service)).to.contain('branch main');
    expect(irrelevance({ ...event, message: 'Docs [skip ci]' }, service)).to.contain('not to be deployed');
  });

  it('asks not to be deployed with any of the usual words, in brackets', () => {
    for (const words of ['skip ci', 'ci skip', 'skip deploy', 'deploy skip', 'no deploy', 'Skip CI']) {
      expect(skipsDeployment(`Docs\n\n[${words}]`), words).to.equal(true);
    }
    expect(skipsDeployment('skip ci')).to.equal(false);
    expect(skipsDeployment('[skipping ci]')).to.equal(false);
  });
});
