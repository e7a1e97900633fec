import { expect } from 'chai';
import { choosePort, wayTo } from '../../../../../workers/runtime/process/choose-port.js';

const at = (...ports: number[]) => ports.map((port) => ({ address: '0.0.0.0', port }));
const SOON = { wanted: 8000, configured: 8000, elsewhereMs: 0 };
const LATER = { ...SOON, elsewhereMs: 2_000 };

describe('The port of an application', () => {
  it('is PORT as soon as it listens there', () => {
    expect(choosePort({ ...SOON, sockets: at(3000, 8000) })).to.deep.equal({ type: 'use', port: 8000 });
  });

  it('is another one only after it has listened there for a while', () => {
    expect(choosePort({ ...SOON, sockets: at(3000) })).to.deep.equal({ type: 'wait' });
    expect(choosePort({ ...LATER, sockets: at(3000) })).to.deep.equal({ type: 'use', port: 3000 });
    expect(choosePort({ ...LATER, sockets: [] })).to.deep.equal({ type: 'wait' });
  });

  it('is at once one that the image exposes', () => {
    expect(choosePort({ ...SOON, exposed: [80], sockets: at(80, 9000) })).to.deep.equal({ type: 'use', port: 80 });
    expect(choosePort({ ...SOON, exposed: [80], sockets: at(9000) })).to.deep.equal({ type: 'wait' });
  });

  it('is the configured one of several, or else the one that answers HTTP', () => {
    expect(choosePort({ ...LATER, configured: 5000, sockets: at(3000, 5000) })).to.deep.equal({
      type: 'use',
      port: 5000,
    });
    expect(choosePort({ ...LATER, sockets: at(9229, 3000, 3000) })).to.deep.equal({ type: 'ask', ports: [3000, 9229] });
    const many = Array.from({ length: 5_000 }, (_, i) => 10_000 + i);
    expect(choosePort({ ...LATER, sockets: at(...many) })).to.deep.equal({ type: 'ask', ports: many.slice(0, 16) });
  });
});

describe('The way to a port', () => {
  const way = (...addresses: string[]) =>
    wayTo(
      addresses.map((address) => ({ address, port: 3000 })),
      3000,
      '10.64.0.2',
    );

  it('is direct if it listens on all addresses or on the one of its network', () => {
    for (const address of ['0.0.0.0', '::', '10.64.0.2'])
      expect(way('127.0.0.1', address)).to.deep.equal({ type: 'direct' });
  });

  it('is a translation to IPv4 loopback, and a relay to IPv6 loopback', () => {
    expect(way('::1', '127.0.0.2')).to.deep.equal({ type: 'translate', address: '127.0.0.2' });
    expect(way('::1')).to.deep.equal({ type: 'relay' });
  });
});
