import { expect } from 'chai';
import { credentialsOf } from '../../../../shared/services/service-source.js';
import { Masker } from '../../../../workers/masking/masker.js';

const SECRET = 'pa$$ "w/ord"\\+ü=?';
const LINES = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\r\nkiG9w0BAQEFAASCBK\n-----END KEY-----\n';

describe('Masker', () => {
  it('hides a value wherever it stands in a line, as often as it stands there', () => {
    const masker = new Masker(['hunter22']);
    expect(masker.mask('hunter22')).to.equal('***');
    expect(masker.mask('a hunter22, hunter22hunter22 b')).to.equal('a ***, *** b');
    expect(masker.mask('hunter2')).to.equal('hunter2');
    expect(masker.mask('')).to.equal('');
    expect(new Masker([]).mask('hunter22')).to.equal('hunter22');
  });

  it('hides overlapping values whole, and the longer of two that begin alike', () => {
    const masker = new Masker(['abcdefgh', 'abcdefghijkl', 'ghijklmnop', 'defghi']);
    expect(masker.mask('xabcdefghijklmnopx')).to.equal('x***x');
    expect(masker.mask('xabcdefghx')).to.equal('x***x');
  });

  for (const [form, encode] of [
    ['JSON', (text: string) => JSON.stringify(text)],
    ['ASCII JSON', (text: string) => JSON.stringify(text).replace('ü', '\\u00fc')],
    ['a URL', encodeURIComponent],
    ['a URL in small letters', (text: string) => encodeURIComponent(text).replace(/%../g, (hex) => hex.toLowerCase())],
    ['a form', (text: string) => String(new URLSearchParams({ v: text }))],
    ['the user part of a URL', (text: string) => Object.assign(new URL('https://h/'), { password: text }).href],
    ['single quotes of a shell', (text: string) => `'${text.replaceAll("'", "'\\''")}'`],
    ['double quotes of a shell', (text: string) => `"${text.replace(/["\\$`]/g, '\\$&')}"`],
  ] as const) {
    for (const secret of [SECRET, "it's $HOME", 'plain-secret-1', 'ключ от квартиры']) {
      it(`hides ${secret} as it is written in ${form}`, () => {
        const line = new Masker([secret]).mask(`before ${encode(secret)} after`);
        expect(line).to.equal(`before ${encode('word').replace('word', '***')} after`);
      });
    }
  }

  it('hides base64 and base64url at every alignment, so that nothing of the value can be decoded', () => {
    for (const secret of [SECRET, 'secret', 'seven77', 'eight888', 'ÿþÿþÿþ~~~???']) {
      const masker = new Masker([secret]);
      for (const user of ['', 'a', 'ab', 'abc', 'user:', 'admin:', 'x-token:']) {
        for (const rest of ['', '\n', '@host', ':tail of it']) {
          for (const encoding of ['base64', 'base64url'] as const) {
            const masked = masker.mask(`Authorization: Basic ${Buffer.from(user + secret + rest).toString(encoding)};`);
            expect(masked).to.match(/^Authorization: Basic .*\*\*\*.*;$/);
            const left = masked.slice('Authorization: Basic '.length, -1);
            const [before = '', after = ''] = left.split('***');
            expect(Buffer.from(before, encoding).toString('latin1').length).to.be.at.most(Buffer.from(user).length);
            expect(after.length).to.be.at.most(Math.ceil((Buffer.from(rest).length * 8) / 6) + 3);
          }
        }
      }
    }
  });

  it('hides a value of several lines line by line, escaped in one line, and in broken base64', () => {
    const masker = new Masker([LINES]);
    expect(LINES.split('\n').map((line) => masker.mask(line))).to.deep.equal(['***', '***\r', '***', '***', '']);
    expect(masker.mask(`key=${JSON.stringify(LINES)}`)).to.match(/^key="\*\*\*(\\n)?"$/);
    for (const width of [64, 76]) {
      const encoded =
        Buffer.from(LINES.repeat(3))
          .toString('base64')
          .match(new RegExp(`.{1,${width}}`, 'g')) ?? [];
      const masked = encoded.map((line) => new Masker([LINES.repeat(3)]).mask(line));
      expect(masked.every((line) => line.startsWith('***') && line.length <= 5)).to.equal(true);
    }
  });

  it('hides a very long value, however it is encoded', () => {
    const secret = Array.from({ length: 9000 }, (_, i) => `${i}ü`)
      .join('')
      .slice(0, 40_000);
    const masker = new Masker([secret]);
    expect(masker.mask(`<${secret}>`)).to.equal('<***>');
    expect(masker.mask(`<${encodeURIComponent(secret)}>`)).to.equal('<***>');
    expect(masker.mask(Buffer.from(`u:${secret}`).toString('base64')).replaceAll('***', '').length).to.be.lessThan(200);
    expect(masker.lookahead).to.be.lessThan(10_000);
  });

  it('leaves values alone that hide nothing', () => {
    const masker = new Masker(['', '1', 'dev', 'true', '    \n \n', 'production', 'localhost', '3000']);
    const line = 'true: NODE_ENV=production on localhost:3000, 1 dev';
    expect(masker.mask(line)).to.equal(line);
  });

  it('says where a text can be cut without tearing a value apart', () => {
    const masker = new Masker(['hunter22']);
    const text = 'the word is hunter22, again';
    expect(masker.cut(text, 12)).to.equal(12);
    for (let at = 13; at < 20; at++) expect(masker.cut(text, at)).to.equal(20);
    expect(masker.cut(text, 20)).to.equal(20);
  });

  it('knows what is secret in the address of a repository', () => {
    expect(credentialsOf('https://host/x.git')).to.deep.equal([]);
    expect(credentialsOf('no address')).to.deep.equal([]);
    expect(new Set(credentialsOf('https://user:t%40ken@host/x'))).to.deep.equal(new Set(['t%40ken', 't@ken']));
    expect(credentialsOf('https://ghp_0123456789@host/x')).to.include('ghp_0123456789');
    expect(credentialsOf('https://ghp_0123456789:x-oauth-basic@host/x')).to.include('ghp_0123456789');
  });

  it('costs about the same for fifty secrets as for one', () => {
    const line = `${'GET /api/v1/items/42 200 12ms user-agent=curl/8.5 '.repeat(2)}`;
    const secrets = Array.from({ length: 50 }, (_, i) => `sk_live_${i}_${'abcdefghij'.repeat(3)}`);
    const time = (masker: Masker) => {
      const began = performance.now();
      for (let i = 0; i < 20_000; i++) masker.mask(line);
      return performance.now() - began;
    };
    const [one, fifty] = [new Masker(secrets.slice(0, 1)), new Masker(secrets)];
    time(one);
    const ratio = Math.min(...[1, 2, 3].map(() => time(fifty) / time(one)));
    expect(ratio).to.be.lessThan(5);
  });

  it('costs the length of the line, however alike hundreds of values are', () => {
    const line = 'é'.repeat(16_000);
    const alike = Array.from({ length: 300 }, (_, i) => `${'é'.repeat(300 + i)}${i}`);
    const time = (masker: Masker) => {
      const began = performance.now();
      masker.mask(line);
      return performance.now() - began;
    };
    // Every place of the line begins like every value, so each comparison looks at hundreds of characters.
    const maskers = [new Masker(alike.slice(0, 1)), new Masker(alike)] as const;
    expect(maskers[1].mask(`<${alike[7]}> ${alike[299]}`)).to.equal('<***> ***');
    const ratio = Math.min(...Array.from({ length: 8 }, () => time(maskers[1]) / time(maskers[0])));
    expect(ratio).to.be.lessThan(10);
  });

  it('hides a value that a combining mark follows', () => {
    expect(new Masker(['hunter22']).mask('hunter22\u0301')).to.equal('***\u0301');
  });
});
