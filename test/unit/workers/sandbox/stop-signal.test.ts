import { expect } from 'chai';
import { signalNumber } from '../../../../workers/sandbox/stop-signal.js';

describe('The STOPSIGNAL of an image', () => {
  it('is a name, a number or a real-time signal', () => {
    expect(['SIGQUIT', 'quit', '3', 'SIGRTMIN+3', 'RTMIN'].map(signalNumber)).to.deep.equal([3, 3, 3, 37, 34]);
  });

  it('is no other text', () => {
    expect(['', 'SIGNONE', '0', '65', 'SIGRTMIN+99', '-9'].map(signalNumber)).to.deep.equal(Array(6).fill(null));
  });
});
