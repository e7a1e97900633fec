import { expect } from 'chai';
import { driftStatus, stepRows } from '../../../../../api/pages/console/pages/stacks/apply-text.js';
import {
  countsOf,
  faultsOf,
  numbersOf,
  offsetOf,
  rowsOf,
} from '../../../../../api/pages/console/pages/stacks/plan-text.js';

type Change = Parameters<typeof rowsOf>[0][number];
type Step = Parameters<typeof stepRows>[0][number];

const change = (action: Change['action'], fields: Change['fields'] = []): Change => ({
  ...{ action, kind: 'service', name: 'web', fields },
});
const texts = (changes: Change[]) => countsOf(changes).map(({ text }) => text);

describe('What the console says of a plan', () => {
  it('counts what is created, changed and deleted, and replacements if there are any', () => {
    expect(texts([])).to.deep.equal(['0 to create', '0 to change', '0 to delete']);
    expect(texts([change('create'), change('create'), change('update')])).to.deep.equal([
      ...['2 to create', '1 to change', '0 to delete'],
    ]);
    expect(texts([change('replace'), change('delete')])).to.include.members(['1 to replace', '1 to delete']);
  });

  it('shows each field from and to, and never a value of a variable', () => {
    const [row] = rowsOf([
      change('update', [
        { path: '/replicas', from: 1, to: 2 },
        { path: '/description', from: 'old', to: '' },
        { path: '/groups', from: null, to: ['shared'] },
        { path: '/reference', from: { service: 'db', key: 'URL' }, to: null },
        { path: '/value', from: '***', to: '***' },
      ]),
    ]);
    expect(row).to.include({ sign: '~', action: 'update', name: 'web' });
    expect(row?.fields).to.deep.equal([
      { field: 'replicas', from: '1', to: '2' },
      { field: 'description', from: 'old', to: '(empty)' },
      { field: 'groups', from: null, to: '["shared"]' },
      { field: 'reference', from: 'db.URL', to: null },
      { field: 'value', from: 'old value, hidden', to: 'new value, hidden' },
    ]);
    const [made] = rowsOf([change('create', [{ path: '/value', from: null, to: '***' }])]);
    expect(made?.fields).to.deep.equal([{ field: 'value', from: null, to: 'hidden' }]);
  });

  it('says that there is drift, and does not call an environment unchanged that could not be compared', () => {
    expect(driftStatus(0, 0)).to.deep.equal({ tone: 'good', text: 'No drift' });
    expect(driftStatus(0, 1).tone).to.equal('plain');
    expect(driftStatus(2, 0).text).to.equal('2 changes of drift');
  });

  it('finds the places of faults in the text', () => {
    const faults = faultsOf([
      { message: 'line 3, column 5: repositry is not a known key' },
      { message: 'must be a name' },
      { message: 'line 2, column 1: bad indentation' },
    ]);
    expect(faults.map(({ line, column, text }) => [line, column, text])).to.deep.equal([
      [2, 1, 'bad indentation'],
      [3, 5, 'repositry is not a known key'],
    ]);
    expect(offsetOf('a\nbc\ndefgh', { line: 3, column: 3 })).to.equal(7);
    expect(offsetOf('a', { line: 9, column: 9 })).to.equal(1);
    expect(numbersOf('a\nb\nc\nd', [{ line: 3, column: 1, text: '' }])).to.deep.equal([
      { text: '1\n2\n', isMarked: false },
      { text: '3\n', isMarked: true },
      { text: '4\n', isMarked: false },
    ]);
  });

  it('shows the first step that is not done as running, while the apply runs', () => {
    const steps = (['done', 'pending', 'pending'] as const).map((status) => ({ op: 'service.deploy', status }) as Step);
    const states = (status: 'running' | 'failed') => stepRows(steps, status).map(({ state }) => state);
    expect(states('running')).to.deep.equal(['done', 'running', 'not started']);
    expect(states('failed')).to.deep.equal(['done', 'not started', 'not started']);
    expect(stepRows(steps, 'running')[0]?.text).to.equal('Deploy');
  });
});
