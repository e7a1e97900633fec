import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { clientAddress } from '../../../../api/http/client-identity.js';

describe('The address of a client', () => {
  const request = (forwarded: string | undefined) =>
    ({
      headers: { 'x-forwarded-for': forwarded },
      socket: { remoteAddress: '::ffff:10.0.0.1' },
    }) as unknown as IncomingMessage;

  it('is that of the connection, whatever its headers say, without a trusted proxy', () => {
    expect(clientAddress(request('192.0.2.1'), false)).to.equal('10.0.0.1');
  });

  it('is the one that the trusted proxy saw, and none that the client made up', () => {
    expect(clientAddress(request('192.0.2.1, 198.51.100.7'), true)).to.equal('198.51.100.7');
    expect(clientAddress(request(undefined), true)).to.equal('10.0.0.1');
  });
});
