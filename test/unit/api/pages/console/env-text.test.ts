import { expect } from 'chai';
import fc from 'fast-check';
import { parseEnv } from '../../../../../api/pages/console/ui/env-text.js';

const entries = (text: string) => Object.fromEntries(parseEnv(text).entries.map(({ key, value }) => [key, value]));

describe('A pasted .env text', () => {
  it('has bare, quoted and exported values, comments and empty lines', () => {
    const text = [
      '\uFEFF# a comment',
      '',
      'BARE=value # with a comment',
      'export EXPORTED = spaced ',
      `SINGLE='as $it is \\n'`,
      'BACK=`a "b" \'c\'` # comment',
      'DOUBLE="a \\"quote\\"\\tand\\nlines"',
      'HASH=a#b',
      'EMPTY=',
      'EQUALS=a=b',
    ].join('\r\n');
    expect(parseEnv(text).problems).to.deep.equal([]);
    expect(entries(text)).to.deep.equal({
      BARE: 'value',
      EXPORTED: 'spaced',
      SINGLE: 'as $it is \\n',
      BACK: `a "b" 'c'`,
      DOUBLE: 'a "quote"\tand\nlines',
      HASH: 'a#b',
      EMPTY: '',
      EQUALS: 'a=b',
    });
  });

  it('goes over several lines between quotes', () => {
    expect(entries('KEY="-----BEGIN\nabc\n-----END"\nNEXT=1')).to.deep.equal({
      KEY: '-----BEGIN\nabc\n-----END',
      NEXT: '1',
    });
  });

  it('takes the last of equal keys once', () => {
    expect(parseEnv('A=1\nA=2').entries).to.deep.equal([{ key: 'A', value: '2' }]);
  });

  it('says which line is wrong, and does not show it', () => {
    expect(parseEnv('A=1\nno value\n1B=2\nC="a" secret\nD="open secret').problems).to.deep.equal([
      'Line 2 is not KEY=value',
      'Line 3 is not KEY=value',
      'Line 4: text follows the closing quote of C',
      'Line 5: the quote of D is not closed',
    ]);
  });

  it('gives back every value that was written in double quotes', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const written = value.replace(/[\\"]/g, '\\$&').replace(/\r/g, '\\r');
        expect(entries(`KEY="${written}"`)).to.deep.equal({ KEY: value });
      }),
    );
  });
});
