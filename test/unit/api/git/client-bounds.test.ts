import { expect } from 'chai';
import fc from 'fast-check';
import { boundedBody, CommandCounter, isTooSlow, pushLimits } from '../../../../api/git/client-bounds.js';
import { packet } from '../../../../api/git/pkt-lines.js';
import type { AppError } from '../../../../shared/core/error-registry.js';

describe('The bounds of a client of git', () => {
  const commands = Buffer.concat([
    packet('a'),
    packet('b'.repeat(3000)),
    Buffer.from('0000'),
    packet('option'),
    Buffer.from('0000'),
  ]);
  const pack = Buffer.from('PACK and 0000 and 0004 as its content');

  it('count what comes before the pack, in whatever parts it arrives', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 30 }), (sizes) => {
        const counter = new CommandCounter();
        const all = Buffer.concat([commands, pack]);
        for (let at = 0, i = 0; at < all.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          counter.push(all.subarray(at, at + size));
          at += size;
        }
        expect(counter.bytes).to.equal(commands.length + 4);
      }),
    );
  });

  it('count everything that is no packet, and what names a pack within a packet', () => {
    const counter = new CommandCounter();
    counter.push(packet('PACK0000PACK'));
    counter.push(Buffer.from('no packet at all'));
    counter.push(Buffer.alloc(1000));
    expect(counter.bytes).to.equal(17 + 4 + 12 + 1000);
  });

  it('refuse a push whose commands or whose body is too large, once, and pass no more of it on', () => {
    for (const chunk of [packet('x'.repeat(60_000)), Buffer.concat([Buffer.from('PACK'), Buffer.alloc(200_000)])]) {
      const refused: AppError[] = [];
      let passed = 0;
      const body = boundedBody(pushLimits(0), (error) => refused.push(error));
      body.on('data', (bytes: Buffer) => {
        passed += bytes.length;
      });
      for (let sent = 0; sent < 20 * 1024 ** 2; sent += chunk.length) body.write(chunk);
      expect(refused.map(({ code }) => code)).to.deep.equal(['payload_too_large']);
      expect(passed).to.be.below(6 * 1024 ** 2);
    }
  });

  it('give a client half a minute, and as long as its bytes take at the least rate', () => {
    expect(isTooSlow(29_999, 0)).to.equal(false);
    expect(isTooSlow(30_001, 0)).to.equal(true);
    expect(isTooSlow(60_000, 1024 ** 2)).to.equal(false);
    expect(isTooSlow(63_000, 1024 ** 2)).to.equal(true);
  });
});
