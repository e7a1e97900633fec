import { expect } from 'chai';
import { AppError } from '../../../../shared/core/error-registry.js';
import type { Change } from '../../../../shared/stacks/plan-model.js';
import { notApplied, reasonAgainstApply, reasonOf } from '../../../../workers/commits/push-decision.js';

const change = (action: Change['action'], kind: Change['kind'], name: string): Change => ({
  action,
  kind,
  name,
  fields: [],
});

describe('What a push may apply', () => {
  it('is a plan that deletes and replaces nothing, and lacks no secret', () => {
    const changes = [change('create', 'service', 'web'), change('update', 'variable', 'web.A')];
    expect(reasonAgainstApply({ changes, secrets: [] }, 'shop')).to.equal(null);
    expect(reasonAgainstApply({ changes: [], secrets: ['web.A', 'web.B'] }, 'shop')).to.equal(
      'web.A, web.B need a value: give it with rnv apply --stack shop',
    );
    const lost = [...changes, change('delete', 'service', 'old'), change('replace', 'volume', 'web.data')];
    expect(reasonAgainstApply({ changes: lost, secrets: ['web.A'] }, 'shop')).to.equal(
      'the plan deletes service old, replaces volume web.data: look at it with rnv plan --stack shop, and confirm it with rnv apply --stack shop',
    );
  });

  it('is refused in one line of text, without values of variables', () => {
    const message = 'The document is not valid: line 1, column 2: A is wrong';
    const details = ['line 1, column 2: A is wrong', 'line 3, column 4: PIN must be a text: put it in quotes, "4711"'];
    const error = new AppError(
      'invalid_request',
      message,
      details.map((text) => ({ path: '', message: text })),
    );
    expect(reasonOf(error)).to.equal(`${message}; line 3, column 4: PIN must be a text: put it in quotes`);
    expect(notApplied('a\u0007b')).to.not.contain('\u0007');
    expect(notApplied('x'.repeat(10_000))).to.have.length.at.most(2000);
  });
});
