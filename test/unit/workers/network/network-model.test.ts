import { expect } from 'chai';
import fc from 'fast-check';
import {
  addressOf,
  chooseBlock,
  FIRST_SLOT,
  gatewayOf,
  hostsText,
  isBlock,
  LAST_SLOT,
  linkName,
  overlaps,
  scopeOf,
  slotOf,
} from '../../../../workers/network/network-model.js';

const TOKEN = '0123456789abcdef';

describe('Addresses of networks', () => {
  it('give each slot of a block an address, and the gateway the first', () => {
    expect(gatewayOf('10.64.16.0/20')).to.equal('10.64.16.1');
    expect(addressOf('10.64.16.0/20', FIRST_SLOT)).to.equal('10.64.16.2');
    expect(addressOf('10.64.16.0/20', LAST_SLOT)).to.equal('10.64.31.254');
    fc.assert(
      fc.property(fc.integer({ min: FIRST_SLOT, max: LAST_SLOT }), (slot) => {
        expect(slotOf('10.127.240.0/20', addressOf('10.127.240.0/20', slot))).to.equal(slot);
      }),
    );
  });

  it('know which addresses are no slot of the block', () => {
    for (const address of ['127.0.0.1', '10.64.16.1', '10.64.31.255', '10.64.15.255', '::1', '', '10.64.16']) {
      expect(slotOf('10.64.16.0/20', address), address).to.equal(null);
    }
  });

  it('choose a block that overlaps nothing in use, and the same one again', () => {
    const first = chooseBlock(TOKEN, ['default', '192.168.1.0/24']) ?? '';
    expect(isBlock(first)).to.equal(true);
    expect(chooseBlock(TOKEN, ['10.128.0.0/9'])).to.equal(first);
    const second = chooseBlock(TOKEN, [first]) ?? '';
    expect(overlaps(first, second)).to.equal(false);
    expect(chooseBlock(TOKEN, ['10.0.0.0/8'])).to.equal(null);
    expect(chooseBlock(TOKEN, ['0.0.0.0/0', addressOf(first, 77)])).to.equal(second);
  });

  it('recognise only blocks that could be chosen', () => {
    for (const text of ['10.64.8.0/20', '10.64.16.0/24', '192.168.0.0/20', '', 'x/20']) {
      expect(isBlock(text), text).to.equal(false);
    }
  });

  it('name links within the 15 characters that the kernel takes', () => {
    for (const random of [0, 1, 2 ** 48 - 1]) expect(linkName(TOKEN, random)).to.match(/^rv012345[0-9a-z]{6}$/);
  });
});

describe('The network of a service', () => {
  const service = { serviceId: 's', workspaceId: 'w', environmentId: 'e', configuration: { privateNetworking: true } };

  it("is that of its environment, that of its workspace's other services without one, or its own", () => {
    expect(scopeOf(service)).to.equal('environment-e');
    expect(scopeOf({ ...service, environmentId: null })).to.equal('workspace-w');
    expect(scopeOf({ ...service, configuration: { privateNetworking: false } })).to.equal('service-s');
  });
});

describe('Names of neighbours', () => {
  it('are sorted, and keep what the host knows of other machines', () => {
    const host = '127.0.0.1 localhost\n127.0.1.1 host\n::1 localhost\n# 1.2.3.4 no\n10.0.0.9 mirror # ours\nbroken\n';
    const neighbours = [
      { hostName: 'web', address: '10.64.0.3' },
      { hostName: 'api', address: '10.64.0.9' },
      { hostName: 'api', address: '10.64.0.2' },
    ];
    expect(hostsText(neighbours, host).split('\n')).to.deep.equal([
      ...['127.0.0.1 localhost', '::1 ip6-localhost ip6-loopback', '10.0.0.9 mirror # ours', '10.64.0.2 api'],
      ...['10.64.0.9 api', '10.64.0.3 web', ''],
    ]);
  });

  it('are those of services too, if no other service has them', () => {
    const neighbours = [
      { hostName: 'db-x1', alias: 'db', address: '10.64.0.3' },
      { hostName: 'db-x2', alias: 'db', address: '10.64.0.4' },
      { hostName: 'web-x1', alias: 'web', address: '10.64.0.5' },
      { hostName: 'web', alias: '', address: '10.64.0.6' },
    ];
    expect(hostsText(neighbours, '').split('\n').slice(2)).to.deep.equal([
      ...['10.64.0.3 db-x1 db', '10.64.0.4 db-x2', '10.64.0.6 web', '10.64.0.5 web-x1', ''],
    ]);
  });
});
