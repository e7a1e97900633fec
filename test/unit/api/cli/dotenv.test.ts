import { expect } from 'chai';
import fc from 'fast-check';
import { parseDotenv } from '../../../../api/cli/dotenv.js';

const parsed = (text: string) => Object.fromEntries(parseDotenv(text));

describe('A .env file', () => {
  it('has keys with plain and quoted values, comments and empty lines', () => {
    const text = [
      '\uFEFF# comment',
      '',
      'A=1',
      'export B = two words  # comment',
      "C='# no comment \\n'",
      'D="line\\nline \\"x\\""',
      'E="first',
      'second"',
      'F=a#b',
      'G=',
      'A=2\r',
    ].join('\n');
    expect(parsed(text)).to.deep.equal({
      A: '2',
      B: 'two words',
      C: '# no comment \\n',
      D: 'line\nline "x"',
      E: 'first\nsecond',
      F: 'a#b',
      G: '',
    });
  });

  it('is refused with the number of a wrong line, and without its text', () => {
    const wrong = ['A=1\nsecret text', 'A=1\nB="secret', "A=1\nB='x' secret", 'A=1\n1B=secret'];
    for (const text of wrong) expect(() => parseDotenv(text), text).to.throw(/^line 2 (?!.*secret)/);
  });

  it('gives back every value that was quoted', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const quoted = value.replace(/\r/g, '').replace(/[\\"]/g, '\\$&');
        expect(parsed(`KEY="${quoted}"`)).to.deep.equal({ KEY: value.replace(/\r/g, '') });
      }),
    );
  });
});
