import { expect } from 'chai';
import type { Deployment } from '../../../../api/cli/api-types.js';
import { afterFailure, errorLines, stepLine, usualBuild } from '../../../../api/cli/deployment-lines.js';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (ms: number) => new Date(START + ms).toISOString();

function deployment(changes: Partial<Deployment> = {}): Deployment {
  return {
    id: '01a2022d-7944-728b-ad47-8b098d3d6a1c',
    status: 'live',
    trigger: 'manual',
    actor: '',
    branch: 'main',
    commitSha: '',
    commitMessage: '',
    blockedReason: '',
    error: '',
    canRollback: true,
    cancelRequested: false,
    sourceDeploymentId: null,
    createdAt: at(0),
    startedAt: at(0),
    finishedAt: at(1000),
    steps: [],
    ...changes,
  };
}

const built = (ms: number, status: Deployment['status'] = 'live') =>
  deployment({ status, steps: [{ name: 'build', startedAt: at(0), finishedAt: at(ms) }] });

describe('What the command line shows of a deployment', () => {
  it('is a line for each step, with its seconds', () => {
    const lines = [
      stepLine({ name: 'queued', startedAt: at(0), finishedAt: at(400) }, ''),
      stepLine({ name: 'build', startedAt: at(0), finishedAt: at(11_800) }, 'usually 14.0 s'),
    ];
    expect(lines).to.deep.equal(['  queued     0.4 s', '  build     11.8 s   usually 14.0 s']);
  });

  it('compares with the median of builds that went live, if there are two', () => {
    expect(usualBuild([])).to.equal(null);
    expect(usualBuild([built(5000), built(9000, 'failed')])).to.equal(null);
    expect(usualBuild([built(30_000), built(1000, 'failed'), built(10_000), built(20_000)])).to.equal(20_000);
    expect(usualBuild([deployment(), deployment()]), 'rollbacks build nothing').to.equal(null);
  });

  it('names the cause of a failure within twelve lines, and what to do next', () => {
    const error = `build: exit code 1\n\n\u001b[2J${Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n')}`;
    const lines = errorLines(deployment({ error }));
    expect(lines).to.have.length(12);
    expect(lines.slice(0, 2)).to.deep.equal(['    build: exit code 1', '    line 0']);
    expect(lines.at(-1)).to.equal('    …');
    expect(afterFailure(deployment(), null, "it's mine")).to.equal(
      "No release is live yet. For the whole log, run rnv logs -s 'it'\\''s mine' --deployment 8d3d6a1c",
    );
    expect(afterFailure(deployment(), '01a2022d-7944-728b-ad47-00009c310000', 'shop')).to.include(
      'Release 9c310000 is still live. For the whole log, run rnv logs -s shop ',
    );
  });
});
