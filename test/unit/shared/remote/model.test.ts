import { expect } from 'chai';
import { MAX_COLUMNS, parseControl, parseSummons } from '../../../../shared/remote/model.js';

describe('Messages of shells', () => {
  it('are control messages with valid values, and nothing else', () => {
    const resize = { columns: 80, rows: 24 };
    expect(parseControl(JSON.stringify({ resize }))).to.deep.equal({ resize });
    expect(parseControl('{"eof":true}')).to.deep.equal({ eof: true });
    expect(parseControl('{"exit":143}')).to.deep.equal({ exit: 143 });
    const wrong = [
      { columns: 80 },
      { ...resize, rows: 0 },
      { ...resize, columns: MAX_COLUMNS + 1 },
      { ...resize, rows: 1.5 },
    ];
    const texts = ['', 'eof', '[]', 'null', '{"eof":false}', '{"exit":"1"}', '{"resize":null}'];
    for (const text of [...texts, ...wrong.map((size) => JSON.stringify({ resize: size }))]) {
      expect(parseControl(text), text).to.equal(null);
    }
  });

  it('are summons only with every field', () => {
    const summons = { hostId: 'h', sessionId: 's', connectionId: 'c', address: 'http://127.0.0.1:1', token: 't' };
    expect(parseSummons(JSON.stringify({ ...summons, more: 1 }))).to.deep.equal(summons);
    for (const name of Object.keys(summons)) {
      expect(parseSummons(JSON.stringify({ ...summons, [name]: undefined })), name).to.equal(null);
    }
  });
});
