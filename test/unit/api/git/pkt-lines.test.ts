import { expect } from 'chai';
import fc from 'fast-check';
import { printable } from '../../../../api/git/hook-channel.js';
import { FLUSH, PacketReader, packet } from '../../../../api/git/pkt-lines.js';

describe("Git's packets", () => {
  it('are read back, however they are cut', () => {
    const lines = fc.array(fc.string({ unit: 'grapheme', maxLength: 50 }).filter((line) => !line.endsWith('\n')));
    fc.assert(
      fc.property(lines, fc.integer({ min: 1, max: 20 }), (texts, size) => {
        const bytes = Buffer.concat([...texts.map(packet), Buffer.from(FLUSH)]);
        const reader = new PacketReader();
        const found: (string | null)[] = [];
        for (let at = 0; at < bytes.length; at += size) found.push(...reader.push(bytes.subarray(at, at + size)));
        expect(found).to.deep.equal([...texts, null]);
      }),
    );
  });

  it('that are none are refused', () => {
    for (const text of ['xxxx', '0001', '0003', 'ffff', '-001']) {
      expect(() => new PacketReader().push(Buffer.from(text)), text).to.throw('no pkt-line');
    }
  });
});

describe('A line for the pusher', () => {
  it('keeps colours and loses what controls a terminal', () => {
    expect(printable('\u001b[31mred\u001b[0m')).to.equal('\u001b[31mred\u001b[0m');
    expect(printable('a\u001b]0;title\u0007b\u001b[2Jc\r\nd')).to.equal('a]0;titleb[2Jcd');
    expect(printable('x'.repeat(5000))).to.have.length(2000);
  });
});
