import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import {
  MAX_TRIES,
  pauseAfterAnswer,
  pauseAfterTry,
  resultOf,
  retryAfterMs,
  shownUrl,
  signatureOf,
  webhookUrlProblem,
} from '../../../../shared/webhooks/model.js';

describe('The address of a webhook', () => {
  it('is public, and has no user', () => {
    expect(webhookUrlProblem('https://example.com/x?key=1', false)).to.equal(null);
    for (const url of [
      'http://127.0.0.1/',
      'http://[::1]:80/',
      'http://localhost/',
      'http://2130706433/',
      'http://10.1.2.3/',
    ]) {
      expect(webhookUrlProblem(url, false), url).to.match(/private address/);
      expect(webhookUrlProblem(url, true), url).to.equal(null);
    }
    for (const url of ['ftp://example.com/', 'https://a:b@example.com/', 'example.com', 'https://exa mple.com/']) {
      expect(webhookUrlProblem(url, true), url).to.not.equal(null);
    }
  });

  it('is shown without its query, and for a chat without its path', () => {
    expect(shownUrl('https://example.com/x?key=secret#y', 'json')).to.equal('https://example.com/x?***');
    expect(shownUrl('https://example.com/x', 'json')).to.equal('https://example.com/x');
    for (const format of ['slack', 'discord', 'teams'] as const) {
      expect(shownUrl('https://chat.example.com:8443/T0/secret?key=secret', format)).to.equal(
        'https://chat.example.com:8443/***',
      );
    }
  });
});

describe('A delivery', () => {
  it('is signed together with the time of the try', () => {
    const hmac = createHmac('sha256', 'secret').update('1000.{}').digest('hex');
    expect(signatureOf('secret', '{}', new Date(1_000_999))).to.equal(`t=1000,v1=${hmac}`);
    expect(signatureOf('secret', '{}', new Date(1_002_000))).to.not.contain(hmac);
  });

  it('is tried for about a day, after growing pauses', () => {
    const pauses = Array.from({ length: MAX_TRIES - 1 }, (_, index) => pauseAfterTry(index + 1) ?? 0);
    expect(pauses.slice(0, 3)).to.deep.equal([30_000, 60_000, 120_000]);
    expect(pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000).to.be.within(20, 30);
    expect(pauseAfterTry(MAX_TRIES)).to.equal(null);
  });

  it('waits as long as the receiver asks, within bounds', () => {
    const now = new Date('2026-11-26T12:00:00Z');
    const asked = ['30', '1.5', 'Thu, 26 Nov 2026 12:01:00 GMT', 'soon', '-1', undefined];
    expect(asked.map((header) => retryAfterMs(header, now))).to.deep.equal([30_000, 1_500, 60_000, 0, 0, 0]);
    expect(pauseAfterAnswer(1, 1_500)).to.equal(30_000);
    expect(pauseAfterAnswer(1, 90_000)).to.equal(90_000);
    expect(pauseAfterAnswer(1, 1e12)).to.equal(2 * 60 * 60_000);
    expect(pauseAfterAnswer(MAX_TRIES, 1_000)).to.equal(null);
  });

  it('has arrived with a status of success, and is not repeated if the receiver is gone', () => {
    expect([200, 204, 301, 410, 429, 500].map(resultOf)).to.deep.equal([
      ...['delivered', 'delivered', 'again', 'gone', 'again', 'again'],
    ]);
  });
});
