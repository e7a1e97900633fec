import { expect } from 'chai';
import {
  budgetBinds,
  budgetUsedPercent,
  consentsToPayment,
  reachedThresholds,
} from '../../../../shared/workspaces/billing.js';
import { DEFAULT_WORKSPACE_CONFIGURATION, type WorkspaceConfiguration } from '../../../../shared/workspaces/model.js';

const settings = (changes: Partial<WorkspaceConfiguration> = {}): WorkspaceConfiguration => ({
  ...DEFAULT_WORKSPACE_CONFIGURATION,
  budget: 100,
  ...changes,
});

describe('Budgets', () => {
  it('alerts are due at 80 and 100 per cent', () => {
    expect(reachedThresholds(79.99, 100)).to.deep.equal([]);
    expect(reachedThresholds(80, 100)).to.deep.equal([80]);
    expect(reachedThresholds(100, 100)).to.deep.equal([80, 100]);
    expect(reachedThresholds(100, 0)).to.deep.equal([]);
    expect(budgetUsedPercent(1, 3)).to.equal(33.3);
    expect(budgetUsedPercent(1, 0)).to.equal(null);
  });

  it('no budget binds nothing, and overages may pass any', () => {
    expect(budgetBinds(settings())).to.equal(true);
    expect(budgetBinds(settings({ budget: 0 }))).to.equal(false);
    expect(budgetBinds(settings({ allowOverages: true }))).to.equal(false);
  });

  it('every change that allows more costs consents to payment, and no other', () => {
    const consents: [Partial<WorkspaceConfiguration>, boolean][] = [
      [{ budget: 101 }, true],
      [{ budget: 0 }, true],
      [{ allowOverages: true }, true],
      [{ currency: 'NGN' }, true],
      [{ budget: 99 }, false],
      [{ buildConcurrency: 5 }, false],
    ];
    for (const [changes, expected] of consents) {
      expect(consentsToPayment(settings(), settings(changes)), JSON.stringify(changes)).to.equal(expected);
    }
    expect(consentsToPayment(settings({ budget: 0 }), settings()), 'a first budget').to.equal(true);
    const none = settings({ budget: 0 });
    expect(consentsToPayment(none, { ...none, currency: 'NGN' }), 'a currency without a budget').to.equal(false);
  });
});
