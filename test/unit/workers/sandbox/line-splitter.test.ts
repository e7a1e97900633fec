import { expect } from 'chai';
import { LineSplitter, MAX_LINE_LENGTH } from '../../../../workers/sandbox/line-splitter.js';

describe('Line splitter', () => {
  it('puts lines together from chunks, without their ends, and keeps the last one without end', () => {
    const splitter = new LineSplitter();
    expect(splitter.push(Buffer.from('one\ntw'))).to.deep.equal(['one']);
    expect(splitter.push(Buffer.from('o\r\n\nthree'))).to.deep.equal(['two', '']);
    expect(splitter.end()).to.deep.equal(['three']);
    expect(splitter.end()).to.deep.equal([]);
  });

  it('keeps a character that two chunks share, and replaces invalid UTF-8 and NUL', () => {
    const splitter = new LineSplitter();
    const bytes = Buffer.from('é€😀\n');
    const lines = [...bytes].flatMap((byte) => splitter.push(Buffer.from([byte])));
    expect(lines).to.deep.equal(['é€😀']);
    expect(splitter.push(Buffer.from([0x61, 0xff, 0x00, 0x0a]))).to.deep.equal(['a\ufffd\ufffd']);
  });

  it('cuts a line that is too long into pieces that lose nothing, never within a character', () => {
    const splitter = new LineSplitter();
    const text = `${'😀'.repeat(MAX_LINE_LENGTH)}end`;
    const lines = [...splitter.push(Buffer.from(text)), ...splitter.end()];
    expect(lines.join('')).to.equal(text);
    for (const line of lines) {
      expect(line.length).to.be.at.most(MAX_LINE_LENGTH);
      expect(Buffer.from(line).toString()).to.equal(line);
    }
  });
});
