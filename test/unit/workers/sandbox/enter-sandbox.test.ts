import { expect } from 'chai';
import { factsOf } from '../../../../workers/sandbox/enter-sandbox.js';

const nul = (...words: string[]) => words.map((word) => `${word}\0`).join('');

describe('The folder and the variables of a command in a sandbox', () => {
  it('are those of the init around it', () => {
    const environ = nul('PATH=/bin', 'A=1=2', 'EMPTY=', 'broken');
    const line = nul('/bin/sh', '/.init', 'free', '/mnt/app/server', 'here', '/bin/sh', '-c', 'node .');
    expect(factsOf(environ, line)).to.deep.equal({
      cwd: '/mnt/app/server',
      env: { PATH: '/bin', A: '1=2', EMPTY: '' },
    });
  });

  it('have the names that the init gives variables later', () => {
    const environ = nul('PATH=/bin', 'RANVIER_NAMES=PORT', 'RANVIER_ENV_PORT=8000');
    expect(factsOf(environ, nul('node', 'server.js'))).to.deep.equal({ cwd: '/', env: { PATH: '/bin', PORT: '8000' } });
  });
});
