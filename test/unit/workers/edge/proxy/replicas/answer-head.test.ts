import { expect } from 'chai';
import {
  checkedStatus,
  clientHeaders,
  InvalidAnswerError,
} from '../../../../../../workers/edge/proxy/replicas/answer-head.js';

const asked = { requestId: 'id', host: 'app.test' };
const passedOn = (raw: string[], status?: number) => clientHeaders(raw, asked, status);

describe("The head of a replica's answer", () => {
  it('has a final status of three digits', () => {
    for (const status of [200, 304, 599, 999]) expect(checkedStatus(status)).to.equal(status);
    for (const status of [undefined, 0, 99, 100, 199, 1000, 200.5, Number.NaN]) {
      expect(() => checkedStatus(status), `${status}`).to.throw(InvalidAnswerError, 'status');
    }
  });

  it('loses what belongs to one connection, and gets the request id of the edge', () => {
    const raw = [
      ...['Connection', 'X-Hop', 'X-Hop', '1', 'Keep-Alive', 'timeout=5', 'X-Request-ID', 'forged', 'X-Own'],
      'yes',
    ];
    expect(passedOn(raw)).to.deep.equal(['X-Own', 'yes', 'X-Request-ID', 'id']);
  });

  it('loses the length of a 204, and of no other status', () => {
    expect(passedOn(['Content-Length', '5'], 204)).to.deep.equal(['X-Request-ID', 'id']);
    expect(passedOn(['Content-Length', '5'], 200)).to.include('Content-Length');
  });

  it('loses the foreign domain of a cookie, in both spellings of the header', () => {
    for (const name of ['Set-Cookie', 'set-cookie2']) {
      expect(passedOn([name, 'a=1; Domain=test; Secure'])[1]).to.equal('a=1; Secure');
    }
  });
});
