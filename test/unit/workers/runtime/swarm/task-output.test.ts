import { expect } from 'chai';
import { OutputParser } from '../../../../../workers/runtime/swarm/task-output.js';

const TIME = '2026-11-21T13:28:02.682243560Z';

function frame(stream: 1 | 2, text: string): Buffer {
  const body = Buffer.from(`${TIME} ${text}`);
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

describe("A task's output as the engine frames it", () => {
  const bytes = Buffer.concat([frame(1, 'one\n'), frame(2, 'two words\n'), frame(1, '')]);
  const expected = [
    { stream: 'stdout', timestamp: TIME, text: 'one\n' },
    { stream: 'stderr', timestamp: TIME, text: 'two words\n' },
    { stream: 'stdout', timestamp: TIME, text: '' },
  ];

  for (const size of [1, 7, 20, bytes.length]) {
    it(`is read from pieces of ${size} bytes`, () => {
      const parser = new OutputParser();
      const found = [];
      for (let at = 0; at < bytes.length; at += size) found.push(...parser.push(bytes.subarray(at, at + size)));
      expect(
        found.map(({ stream, timestamp, bytes: text }) => ({ stream, timestamp, text: String(text) })),
      ).to.deep.equal(expected);
    });
  }
});
