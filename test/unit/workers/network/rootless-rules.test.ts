import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { connectionBounds } from '../../../../workers/network/connection-bounds.js';
import { mirrorOf, type NetworkSlot } from '../../../../workers/network/network-model.js';
import {
  admitRules,
  dismissRules,
  entryRules,
  type NetworkSettings,
  networkRules,
} from '../../../../workers/network/network-rules.js';

const SETTINGS: NetworkSettings = {
  token: '0123456789abcdef',
  dataDir: '/home/somebody/.ranvier',
  block: '10.64.16.0/20',
  resolvers: ['10.0.2.3'],
  loopbackResolver: null,
  egressAllow: [],
  sources: [],
  loopbackPorts: [4873],
  loopbackForAll: false,
  publicEndpoints: [{ address: '198.51.100.7', port: 443 }],
  connections: connectionBounds(262_144, true),
  edgeUsers: [0],
  uplink: {
    link: 'tap0',
    address: '10.0.2.100',
    gateway: '10.0.2.2',
    hostAddresses: ['192.168.1.20', '198.51.100.7', 'fd00::2'],
  },
};
const SLOT: NetworkSlot = {
  number: 2,
  id: 'replica-a-0',
  name: 'rv012345aaaaaa',
  scope: 'environment-e',
  use: 'application',
  hostName: 'a',
  entry: { port: 20_123, to: 8000 },
  releasedAt: null,
};

describe('Network rules without root', () => {
  const rules = networkRules(SETTINGS, [SLOT]);

  it('lead from the uplink to the port of each sandbox that the host reaches', () => {
    expect(rules).to.contain('elements = { 10002 : 10.64.16.2 . 8000 }');
    expect(rules).to.contain('iifname "tap0" ip daddr 10.0.2.100 dnat ip to tcp dport map @entries');
    expect(entryRules(SETTINGS, { ...SLOT, entry: { port: 20_123, to: 3000 } })).to.contain(
      'entries { 10002 : 10.64.16.2 . 3000 }',
    );
    expect(entryRules(SETTINGS, { ...SLOT, entry: null })).to.equal('');
  });

  it('close the addresses of the host behind what it serves to the public', () => {
    const served = rules.indexOf('ip daddr . tcp dport { 198.51.100.7 . 443 } accept', rules.indexOf('chain forward'));
    const closed = rules.indexOf('ip daddr { 192.168.1.20, 198.51.100.7 } reject');
    expect(served).to.be.greaterThan(0);
    expect(closed).to.be.greaterThan(served);
  });

  it('lead the registries on the loopback of the host to the gateway of the uplink, for builds', () => {
    expect(rules).to.contain('iifname @loopback ip daddr 10.64.16.1 tcp dport { 4873 } dnat ip to 10.0.2.2');
    expect(rules).to.contain('iifname @loopback ip daddr 10.0.2.2 ct status dnat tcp dport { 4873 } accept');
  });

  it('say nothing of an uplink on a host itself', () => {
    expect(networkRules({ ...SETTINGS, uplink: null }, [{ ...SLOT, entry: null }])).to.not.contain('tap0');
  });

  const scripts: [what: string, script: string][] = [
    ['one sandbox', rules],
    ['one more', `${networkRules(SETTINGS, [])}${admitRules(SETTINGS, SLOT)}`],
    ['one less', `${rules}${dismissRules(SETTINGS, SLOT)}`],
    ['another port', `${rules}${entryRules(SETTINGS, { ...SLOT, entry: { port: 20_123, to: 3000 } })}`],
    [
      'no address of the host',
      networkRules({ ...SETTINGS, uplink: { ...SETTINGS.uplink, hostAddresses: [] } as never }, []),
    ],
  ];
  for (const [what, script] of scripts) {
    it(`are valid for nft with ${what}`, function () {
      // In a namespace of its own, nft checks the rules without root.
      const { error, status, stderr } = spawnSync('unshare', ['-Urn', 'nft', '-c', '-f', '-'], {
        input: script,
        encoding: 'utf8',
      });
      if (error !== undefined || /unshare: .*(failed|not permitted|No such file)/.test(stderr)) this.skip();
      expect(`${status} ${stderr}`).to.equal('0 ');
    });
  }
});

describe('The address on the loopback of the host', () => {
  it('mirrors that of a sandbox', () => {
    expect(mirrorOf('10.64.16.2')).to.equal('127.64.16.2');
    expect(mirrorOf('127.64.16.2')).to.equal('10.64.16.2');
  });
});
