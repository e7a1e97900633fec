import { expect } from 'chai';
import {
  type BaseFacts,
  decidePreview,
  expiryOf,
  type PreviewFacts,
  previewConfiguration,
  previewName,
  previewRefusal,
} from '../../../../shared/previews/model.js';
import { DEFAULT_CONFIGURATION, type PartialServiceConfiguration } from '../../../../shared/services/configuration.js';
import { SERVICE_KINDS, slugOf } from '../../../../shared/services/model.js';

const HOUR = 3_600_000;
const NOW = new Date('2026-11-22T12:00:00Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);

describe('A preview of a branch', () => {
  const refusal = (
    { kind = 'web', isPreview = false, ...rest }: Partial<BaseFacts> = {},
    changes: PartialServiceConfiguration = {},
    branch = 'topic',
  ) => {
    const configuration = { ...DEFAULT_CONFIGURATION, previewMode: 'manual' as const, ...changes };
    return previewRefusal({ kind, isPreview, configuration, ...rest }, branch);
  };

  it('is made of services that visitors see, and of their repositories', () => {
    expect(SERVICE_KINDS.filter((kind) => refusal({ kind }) === null)).to.deep.equal(['web', 'static']);
    expect(refusal({}, { sourceType: 'image' })).to.include('runs an image');
    expect(refusal({}, { sourceType: 'push' })).to.equal(null);
    expect(refusal({}, {}, 'refs/pull/1/head')).to.include('is no branch');
    expect(refusal({ isPreview: true })).to.include('is a preview itself');
  });

  it('needs previewMode, and another branch than that of the service', () => {
    expect(refusal({}, { previewMode: 'off' })).to.include('set previewMode');
    expect(refusal({}, { previewMode: 'automatic' })).to.equal(null);
    expect(refusal({}, {}, 'main')).to.include('deploy the service instead');
    expect(refusal({}, { branch: 'live' }, 'main')).to.equal(null);
  });

  it('has the configuration of its service, but for what makes it a preview', () => {
    const base = {
      ...DEFAULT_CONFIGURATION,
      ...{ repository: 'https://example.com/a.git', plan: 'starter' as const, port: 4000, replicas: 5 },
      ...{ previewMode: 'automatic' as const, platformDomainEnabled: false, maintenance: true },
      ...{ scaling: 'auto' as const, ipAllowList: ['192.0.2.0/24'] },
    };
    const changed = Object.entries(previewConfiguration(base, { branch: 'topic', fork: false })).filter(
      ([name, value]) => base[name as keyof typeof base] !== value,
    );
    expect(Object.fromEntries(changed)).to.deep.equal({
      branch: 'topic',
      autoDeploy: 'commit',
      maintenance: false,
      platformDomainEnabled: true,
      previewMode: 'off',
      replicas: 1,
      scaling: 'manual',
    });
  });

  it('of a fork follows nothing and reaches no other service', () => {
    const base = { ...DEFAULT_CONFIGURATION, privateNetworking: true };
    expect(previewConfiguration(base, { branch: 'refs/pull/7/head', fork: true })).to.include({
      branch: 'refs/pull/7/head',
      autoDeploy: 'off',
      privateNetworking: false,
    });
  });

  it('is named after its service and its branch', () => {
    expect(slugOf(previewName('Shop', 'feature/New_basket'))).to.equal('shop-feature-new-basket');
    expect(previewName('s'.repeat(100), 'topic')).to.have.length(100);
  });
});

describe('The end of a preview', () => {
  const facts = (more: Partial<PreviewFacts> = {}, base: Partial<PreviewFacts['base']> = {}): PreviewFacts => ({
    changedAt: ago(HOUR),
    lifecycleStatus: 'active',
    deletionEndedAt: null,
    deletionOpen: false,
    closed: null,
    ...more,
    base: { gone: false, configuration: { previewMode: 'manual', previewExpiryHours: 2 }, ...base },
  });
  const decide = (...given: Parameters<typeof facts>) => decidePreview(facts(...given), NOW);

  it('comes when its branch or its pull request is closed', () => {
    expect(decide({ closed: 'pull request #7 is closed' })).to.deep.equal({
      type: 'delete',
      reason: 'pull request #7 is closed',
    });
    expect(decide({ closed: 'x', lifecycleStatus: 'deleting', deletionOpen: true })).to.deep.equal({ type: 'keep' });
  });

  it('comes previewExpiryHours after its last change', () => {
    expect(expiryOf(ago(HOUR), { previewExpiryHours: 72 })).to.deep.equal(new Date(NOW.getTime() + 71 * HOUR));
    expect(decide()).to.deep.equal({ type: 'keep' });
    expect(decide({ changedAt: ago(2 * HOUR - 1) })).to.deep.equal({ type: 'keep' });
    expect(decide({ changedAt: ago(2 * HOUR) })).to.deep.include({ type: 'delete' });
  });

  it('comes with that of its service, and when previews are switched off', () => {
    expect(decide({}, { gone: true })).to.deep.equal({ type: 'delete', reason: 'its service was deleted' });
    const configuration = { previewMode: 'off' as const, previewExpiryHours: 2 };
    expect(decide({}, { configuration })).to.deep.equal({ type: 'delete', reason: 'previews were switched off' });
  });

  it('is tried again after a pause if the deletion failed, whatever its cause was', () => {
    const deleting = { lifecycleStatus: 'deleting' as const };
    expect(decide({ ...deleting, deletionOpen: true })).to.deep.equal({ type: 'keep' });
    expect(decide({ ...deleting, deletionEndedAt: ago(59_000) })).to.deep.equal({ type: 'keep' });
    expect(decide({ ...deleting, deletionEndedAt: ago(60_000) })).to.deep.equal({ type: 'deleteAgain' });
    expect(decide({ lifecycleStatus: 'deleted' }, { gone: true })).to.deep.equal({ type: 'keep' });
  });
});
