import { expect } from 'chai';
import { outcomeOf, withoutAnswer } from '../../../../workers/drains/decide-outcome.js';

const NOW = new Date('2026-11-27T10:00:00Z');

describe('What a collector answers', () => {
  const decide = (status: number, body = '', retryAfter?: string, tries = 0) =>
    outcomeOf({ status, body, retryAfter }, tries, NOW);

  it('is a success with any content, and says what it rejected', () => {
    for (const body of ['', '{}', 'thanks', '{"partialSuccess":{}}', '{"partialSuccess":null}', '[1]']) {
      expect(decide(200, body), body).to.deep.equal({ result: 'sent', rejected: 0, error: '' });
    }
    for (const name of ['rejectedLogRecords', 'rejectedDataPoints', 'rejectedSpans']) {
      const body = JSON.stringify({ partialSuccess: { [name]: '2', errorMessage: 'too\nold' } });
      const error = 'the collector rejected 2 records: too\\u000aold';
      expect(decide(200, body)).to.deep.equal({ result: 'sent', rejected: 2, error });
    }
    const warning = { partialSuccess: { errorMessage: 'use the new address' } };
    expect(decide(202, JSON.stringify(warning))).to.include({ rejected: 0, error: 'use the new address' });
  });

  it('skips a batch that can never succeed, and nothing else', () => {
    for (const status of [400, 413, 422]) expect(decide(status).result, `${status}`).to.equal('skipped');
    for (const status of [301, 401, 403, 404, 408, 429, 500, 502, 503, 504]) {
      expect(decide(status).result, `${status}`).to.equal('again');
    }
  });

  it('is waited for longer each time, as long as it asks, and an hour at most', () => {
    const waits = [0, 1, 2, 9, 10_000].map((tries) => decide(503, '', undefined, tries));
    expect(waits.map((outcome) => outcome.result === 'again' && outcome.waitMs)).to.deep.equal([
      5_000, 10_000, 20_000, 300_000, 300_000,
    ]);
    expect(decide(429, '', '120')).to.include({ waitMs: 120_000 });
    expect(decide(429, '', 'Fri, 27 Nov 2026 10:03:00 GMT')).to.include({ waitMs: 180_000 });
    expect(decide(429, '', '1')).to.include({ waitMs: 5_000 });
    expect(decide(429, '', '999999')).to.include({ waitMs: 3_600_000 });
    expect(withoutAnswer('not sent: x', 1)).to.deep.equal({ result: 'again', waitMs: 10_000, error: 'not sent: x' });
  });

  it('is quoted in a line of bounded length', () => {
    const { error } = decide(500, JSON.stringify({ message: `a\u001b[31m${'b'.repeat(9999)}` }));
    expect(error.length).to.equal(300);
    expect(error).to.match(/^answered with 500: a\\u001b\[31mbbb/);
  });
});
