import { expect } from 'chai';
import { DEPLOYMENT_STATES, type DeploymentState } from '../../../../shared/deployments/model.js';
import { reasonOf, verdictOf } from '../../../../workers/forge/forge-answer.js';
import { commentWith, createdId, FORGES } from '../../../../workers/forge/forges.js';
import { commentBody, type DeploymentFacts, environmentReport, statusReport } from '../../../../workers/forge/model.js';

const link = 'https://console.example.com/w/1/s/2/d/3';
const service = { name: 'Shop', slug: 'shop', url: 'https://shop.example.com' };

function facts(status: DeploymentState, fields: Partial<DeploymentFacts> = {}): DeploymentFacts {
  return {
    status,
    error: '',
    steps: [{ name: 'queued' }, { name: 'build' }],
    commitSha: 'abcdef0123',
    link,
    ...fields,
  };
}

describe('What git hosts are told of a deployment', () => {
  it('is a status for each state', () => {
    const told = DEPLOYMENT_STATES.map((status) => {
      const { state, description } = statusReport(facts(status), 'shop');
      return `${status}: ${state}, ${description}`;
    });
    expect(told).to.deep.equal([
      'queued: pending, Queued',
      'building: running, Building',
      'releasing: running, Releasing',
      'prepared: running, Releasing',
      'canary: running, Canary',
      'withdrawn: running, Canary',
      'switched: running, Releasing',
      'live: success, Live',
      'failed: failure, The step build failed',
      'cancelled: error, Cancelled',
    ]);
    expect(statusReport(facts('live'), 'shop')).to.include({ context: 'ranvier/shop', link });
  });

  it('names the step that failed and its cause in 140 characters of one line', () => {
    const { description } = statusReport(
      facts('failed', { error: `npm run build: \u001b exit code 1\n${'x'.repeat(500)}` }),
      's',
    );
    expect(description).to.equal('The step build failed: npm run build: \\u001b exit code 1');
    const long = statusReport(facts('failed', { error: '\u{1f980}'.repeat(500) }), 's').description;
    expect([...long]).to.have.length(140);
    expect(long.endsWith('\u{1f980}…')).to.equal(true);
  });

  it('is a deployment of GitHub that is inactive when another one is live', () => {
    const of = (status: DeploymentState, active: boolean) =>
      environmentReport(facts(status), service, { preview: true, active });
    expect(of('live', true)).to.include({ state: 'success', url: service.url, transient: true, environment: 'shop' });
    expect(of('live', false)).to.include({ state: 'inactive', url: null });
    expect(of('building', false)).to.include({ state: 'in_progress', url: null });
    expect(of('queued', false)).to.include({ state: 'queued' });
    expect(of('failed', false)).to.include({ state: 'failure', url: null });
  });

  it('is a comment in which a stranger’s texts are no mention, no link and no end of the block', () => {
    const deployment = facts('failed', { error: 'see @everyone' });
    const hostile = { ...service, name: '`@team` [x](http://evil.test)', url: null };
    const log = ['```', '@everyone <img src=x>', '\u001b[2J'];
    const body = commentBody({ service: hostile, closedReason: '', deployment, log }, 'id');
    expect(body).to.match(
      /^<!-- ranvier:id -->\n\*\*Preview\*\* `'@team' \[x\]\(http:\/\/evil\.test\)`: ❌ The step build failed\n/,
    );
    expect(body).to.include('````text\n```\n@everyone <img src=x>\n\\u001b[2J\n````');
    expect(body).to.include('```text\nsee @everyone\n```');
    expect(body).not.to.include('Address');
  });

  it('is a comment with the address of the preview, or with its end', () => {
    const shown = { service, closedReason: '', deployment: facts('live'), log: [] };
    expect(commentBody(shown, 'id')).to.include('- Address: https://shop.example.com\n- Commit: `abcdef0`\n');
    expect(commentBody({ ...shown, closedReason: 'pull request #7 is closed' }, 'id')).to.include('is being deleted');
    expect(commentBody(null, 'id')).to.include('was deleted');
  });
});

describe('Answers of git hosts', () => {
  const now = new Date('2026-11-27T12:00:00Z');
  const verdict = (status: number, headers = {}, body = '') => verdictOf({ status, headers, body }, now);

  it('are done, refused for good, or to be tried again when the git host says', () => {
    expect([200, 201, 204].map((status) => verdict(status))).to.deep.equal(['done', 'done', 'done']);
    for (const status of [301, 400, 401, 403, 404, 409, 422]) expect(verdict(status), `${status}`).to.equal('refused');
    expect(verdict(500)).to.deep.equal({ waitMs: 0 });
    expect(verdict(429)).to.deep.equal({ waitMs: 0 });
    expect(verdict(429, { 'retry-after': '90' })).to.deep.equal({ waitMs: 90_000 });
    expect(verdict(403, { 'retry-after': '60' }), 'a secondary limit of GitHub').to.deep.equal({ waitMs: 60_000 });
    const reset = String(now.getTime() / 1000 + 30);
    const exhausted = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
    expect(verdict(403, exhausted)).to.deep.equal({ waitMs: 30_000 });
    expect(verdict(403, { ...exhausted, 'x-ratelimit-remaining': '1' })).to.equal('refused');
    expect(verdict(400, {}, '{"message":"Cannot transition status via :run from :running"}')).to.equal('done');
  });

  it('are shown in one short line', () => {
    expect(reasonOf({ status: 403, body: '{"message":"Resource not accessible\\nby token"}' })).to.equal(
      'answered with 403: Resource not accessible\\u000aby token',
    );
    expect(reasonOf({ status: 404, body: '<html>' })).to.equal('answered with 404');
    expect(reasonOf({ status: 400, body: '{"message":{"body":["is missing"]}}' })).to.include('is missing');
    expect(reasonOf({ status: 400, body: JSON.stringify({ error: 'x'.repeat(999) }) })).to.have.length(169);
  });

  it('give ids, and only of a comment that begins with the marker', () => {
    expect([{ id: 7 }, { id: '7/../8' }, { id: -1 }, null].map(createdId)).to.deep.equal(['7', '', '', '']);
    const quoted = { id: 1, body: '> <!-- ranvier:a -->' };
    expect(commentWith('a', [quoted, { id: 2, body: '<!-- ranvier:a -->\nx' }])).to.equal('2');
    expect(commentWith('a', { message: 'no list' })).to.equal('');
  });
});

describe('Requests to git hosts', () => {
  it('keep strange names of repositories inside their part of the path', () => {
    const report = statusReport(facts('live'), 's');
    expect(FORGES.github.status('a/b?c#d', 'sha', report).path).to.equal('/repos/a/b%3Fc%23d/statuses/sha');
    expect(FORGES.gitlab.status('a/b/c', 'sha', report).path).to.equal('/projects/a%2Fb%2Fc/statuses/sha');
  });
});
