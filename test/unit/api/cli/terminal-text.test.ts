import { Writable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { CliError, EXIT } from '../../../../api/cli/exit-codes.js';
import { Terminal } from '../../../../api/cli/terminal.js';
import {
  ago,
  escaped,
  oneLine,
  parseDuration,
  printable,
  seconds,
  shortId,
  table,
} from '../../../../api/cli/terminal-text.js';

describe('Texts of the command line', () => {
  it('show nothing that a terminal obeys; colours stay if they are wanted', () => {
    const hostile = '\u001b]0;title\u0007a\u001b[2Jb\u001b[31mc\u001b[0m\rd\u0008e\u009b1;1Hf\u001b]52;c;aGk=\u001b\\g';
    expect(printable(hostile)).to.equal('abcde1;1Hfg');
    expect(printable('\u001b[31mred\u001b[0m\u001b[2J', { colours: true })).to.equal('\u001b[31mred\u001b[0m');
    expect(oneLine(' a\n\tb\u0007 ')).to.equal('a b');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be left
        expect(printable(text)).to.not.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
    );
  });

  it('write out what a terminal obeys where a name or an answer has it', () => {
    expect(escaped('a\u001b]52;c;aGk=\u0007\u009b2J\u001b[31m\r\u202e\n\tb')).to.equal(
      'a\\u001b]52;c;aGk=\\u0007\\u009b2J\\u001b[31m\\u000d\\u202e\n\tb',
    );
    expect(escaped('\u001b[31mred\u001b[0m\u001b[2J', { colours: true })).to.equal('\u001b[31mred\u001b[0m\\u001b[2J');
    expect(new CliError(EXIT.conflict, 'refused: \u001b]0;title\u0007').message).to.equal(
      'refused: \\u001b]0;title\\u0007',
    );
  });

  it('of the terminal have nothing but colours', () => {
    let output = '';
    const stream = Object.assign(
      new Writable({
        write: (chunk, _, done) => {
          output += chunk;
          done();
        },
      }),
      { isTTY: true },
    );
    const streams = { stdin: process.stdin, stdout: stream, stderr: stream };
    const terminal = new Terminal(streams, { quiet: false, colours: true });
    const hostile = '\u001b]0;title\u0007\u001b[2J\u009b1;1H';
    terminal.data(terminal.paintData('red', hostile));
    terminal.say(hostile);
    terminal.complain(hostile);
    terminal.json({ name: hostile });
    terminal.progress(hostile);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what the terminal itself writes
    expect(output.replace(/\r\u001b\[2K|\u001b\[\d+m/g, '')).to.not.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  it('name durations as people do', () => {
    expect([0, 400, 11_840, 99_940, 125_000].map(seconds)).to.deep.equal([
      '0.0 s',
      '0.4 s',
      '11.8 s',
      '99.9 s',
      '2 min 5 s',
    ]);
    expect([8000, 120_000, 18_000_000, 260_000_000].map(ago)).to.deep.equal(['8 s', '2 min', '5 h', '3 d']);
    expect(['90', '90s', '15m', '2 h', '1.5d'].map(parseDuration)).to.deep.equal([
      90_000, 90_000, 900_000, 7_200_000, 129_600_000,
    ]);
    expect(['', 'm', '-1s', '1w', '1s2'].map(parseDuration)).to.deep.equal([null, null, null, null, null]);
  });

  it('stand in columns, whose last one is not padded', () => {
    expect(table([['a', 'bb', 'c'], ['aaa', 'b'], []])).to.deep.equal(['a    bb  c', 'aaa  b', '']);
  });

  it('tell ids apart by their end', () => {
    expect(shortId('01a2022d-7944-728b-ad47-8b098d3d6a1c')).to.equal('8d3d6a1c');
  });
});
