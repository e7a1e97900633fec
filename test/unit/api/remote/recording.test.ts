import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Recording } from '../../../../api/remote/recording.js';
import { MAX_RECORDING_BYTES } from '../../../../shared/remote/model.js';

describe('A recording of a shell', () => {
  const recorder = (size: { columns: number; rows: number } | null, fail = () => false) => {
    const parts: Buffer[] = [];
    const store = async (part: number, content: Buffer) => {
      if (fail()) throw new Error('no database');
      parts[part] = content;
    };
    const recording = new Recording({ size, command: ['ls', '-l'], beganAt: 10_000, store });
    const lines = () =>
      gunzipSync(Buffer.concat(parts))
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    return { recording, lines, parts };
  };

  it('is asciicast v2 of what it printed and of its sizes, whatever the messages cut apart', async () => {
    const { recording, lines } = recorder({ columns: 100, rows: 30 });
    const text = Buffer.from('grün\r\n');
    recording.output(text.subarray(0, 3), 10_500);
    recording.output(text.subarray(3), 11_000);
    recording.resize({ columns: 90, rows: 20 }, 12_250);
    await recording.flush();
    expect(lines()).to.deep.equal([
      { version: 2, width: 100, height: 30, timestamp: 10, command: 'ls -l' },
      [0.5, 'o', 'gr'],
      [1, 'o', 'ün\r\n'],
      [2.25, 'r', '90x20'],
    ]);
  });

  it('shows both streams of a shell without a terminal', async () => {
    const { recording, lines } = recorder(null);
    recording.output(Buffer.from('\u0001out\n'), 10_000);
    recording.output(Buffer.from('\u0002wrong\n'), 10_000);
    await recording.flush();
    expect(lines().slice(1)).to.deep.equal([
      [0, 'o', 'out\r\n'],
      [0, 'o', 'wrong\r\n'],
    ]);
  });

  it('ends at its largest size, and says so', async () => {
    const { recording, lines, parts } = recorder({ columns: 80, rows: 24 });
    const message = Buffer.alloc(64 * 1024, 'x');
    for (let sent = 0; sent < 2 * MAX_RECORDING_BYTES; sent += message.length) {
      recording.output(message, 10_000);
      if (recording.isDue) await recording.flush();
    }
    await recording.flush();
    expect(lines().at(-1)?.[2]).to.contain('full');
    expect(gunzipSync(Buffer.concat(parts)).length).to.be.within(
      MAX_RECORDING_BYTES - 70_000,
      MAX_RECORDING_BYTES + 1_000,
    );
  });

  it('loses nothing if a part could not be stored at once', async () => {
    let fails = true;
    const { recording, lines } = recorder(null, () => fails);
    recording.output(Buffer.from('\u0001first\n'), 10_000);
    await recording.flush().catch(() => undefined);
    fails = false;
    recording.output(Buffer.from('\u0001second\n'), 10_000);
    await recording.flush();
    expect(
      lines()
        .slice(1)
        .map(([, , text]) => text),
    ).to.deep.equal(['first\r\n', 'second\r\n']);
  });
});
