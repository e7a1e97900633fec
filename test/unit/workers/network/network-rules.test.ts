import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { connectionBounds } from '../../../../workers/network/connection-bounds.js';
import type { NetworkSlot } from '../../../../workers/network/network-model.js';
import {
  admitRules,
  dismissRules,
  joinRules,
  loopbackRules,
  type NetworkSettings,
  networkRules,
  portRules,
} from '../../../../workers/network/network-rules.js';

const SETTINGS: NetworkSettings = {
  token: '0123456789abcdef',
  dataDir: '/var/lib/ranvier',
  block: '10.64.16.0/20',
  resolvers: ['10.255.255.53'],
  loopbackResolver: null,
  egressAllow: ['10.1.2.0/24'],
  sources: [{ address: '192.168.7.1', port: 8080 }],
  loopbackPorts: [4873],
  loopbackForAll: false,
  publicEndpoints: [{ address: '198.51.100.7', port: 443 }],
  connections: connectionBounds(262_144, true),
  edgeUsers: [0, 998],
  uplink: null,
};
const SLOT: NetworkSlot = {
  number: 2,
  id: 'replica-a-0',
  name: 'rv012345aaaaaa',
  scope: 'environment-e',
  use: 'application',
  hostName: 'a',
  releasedAt: null,
};
const BUILD: NetworkSlot = { ...SLOT, number: 3, id: 'build-b-1', name: 'rv012345bbbbbb', use: 'build' };

describe('Network rules', () => {
  const rules = networkRules(SETTINGS, [SLOT, BUILD]);

  it('bind each link to its address and to the network of its scope', () => {
    expect(rules).to.contain('elements = { "rv012345aaaaaa" . 10.64.16.2, "rv012345bbbbbb" . 10.64.16.3 }');
    expect(rules).to.contain('"rv012345aaaaaa" : jump n_environment-e');
    expect(rules).to.contain('set m_environment-e { type ifname; elements = { "rv012345aaaaaa", "rv012345bbbbbb" }; }');
  });

  it('let a namespace send by its own address only, and let only the edge and what was opened reach it or the host', () => {
    for (const chain of ['input', 'forward']) {
      const text = rules.slice(rules.indexOf(`chain ${chain} {`)).split('}\n  chain')[0] ?? '';
      expect(text, chain).to.contain('iifname . ip saddr != @own drop');
    }
    expect(rules).to.contain('iifname @loopback ct status dnat tcp dport { 4873 } accept\n');
    expect(rules).to.contain('meta skuid != { 0, 998 } reject');
  });

  it('bound the connections of each sandbox, by the size of the table of the host', () => {
    expect(connectionBounds(262_144, true)).to.deep.equal({ atOnce: 4096, perSecond: 500, forgets: true });
    expect(connectionBounds(131_072, true).atOnce).to.equal(2048);
    expect(connectionBounds(0, false)).to.deep.equal({ atOnce: 1024, perSecond: 100, forgets: false });
    expect(rules).to.contain('bounded add @open { ip saddr ct count over 4096 } reject');
    expect(rules, 'a count that begins anew each minute is none').to.not.match(
      /(delete|flush) (table|set) inet ranvier_use/,
    );
    for (const chain of ['input', 'forward'])
      expect(rules).to.contain(`${chain} iifname "rv012345*" ct state new jump bounded`);
  });

  it('open the registries of the platform to builds, not to applications', () => {
    expect(rules).to.contain('set builds { type ifname; elements = { "rv012345bbbbbb" }; }');
    expect(rules).to.contain('set loopback { type ifname; elements = { "rv012345bbbbbb" }; }');
    expect(networkRules({ ...SETTINGS, loopbackForAll: true }, [SLOT])).to.contain(
      'set loopback { type ifname; elements = { "rv012345aaaaaa" }; }',
    );
  });

  it('close private networks after the name server and EGRESS_ALLOW were let through', () => {
    const forward = rules.slice(rules.indexOf('chain forward'));
    expect(forward.indexOf('10.255.255.53')).to.be.lessThan(forward.indexOf('10.0.0.0/8'));
    expect(forward.indexOf('10.1.2.0/24')).to.be.lessThan(forward.indexOf('10.0.0.0/8'));
    expect(rules).to.contain('169.254.0.0/16');
  });

  it('replace only their own table, and cannot be broken out of by the name of a folder', () => {
    const odd = networkRules({ ...SETTINGS, dataDir: '/x" } flush ruleset #' }, []);
    expect(odd).to.not.match(/flush (ruleset|table)/);
    expect(odd.match(/delete table .*/g)).to.deep.equal(['delete table inet ranvier_net_0123456789abcdef']);
  });

  it('cost the same for one more namespace, however many there are', () => {
    expect(admitRules(SETTINGS, SLOT).trim().split('\n').length).to.be.lessThan(11);
    expect(dismissRules(SETTINGS, BUILD)).to.contain('delete element inet ranvier_net_0123456789abcdef builds');
  });

  for (const [name, text] of [
    ['everything', rules],
    ['nothing', networkRules({ ...SETTINGS, resolvers: [], egressAllow: [], sources: [], loopbackPorts: [] }, [])],
    ['a name server on loopback', networkRules({ ...SETTINGS, loopbackResolver: '127.0.0.53' }, [SLOT])],
    ['one more namespace', `${networkRules(SETTINGS, [SLOT])}${admitRules(SETTINGS, BUILD)}`],
    [
      'one more in a network',
      `${networkRules(SETTINGS, [SLOT])}${joinRules(SETTINGS, { ...BUILD, scope: SLOT.scope })}`,
    ],
    ['one less', `${networkRules(SETTINGS, [SLOT, BUILD])}${dismissRules(SETTINGS, BUILD)}`],
    ['ports of loopback', loopbackRules(SETTINGS)],
    ['a port', portRules([{ port: 8000, to: { address: '127.0.0.1', port: 3000 } }])],
    ['no port', portRules([])],
  ]) {
    it(`are valid for nft, with ${name} (skipped if nft does not work)`, function () {
      if (spawnSync('nft', ['list', 'tables']).status !== 0) this.skip();
      const checked = spawnSync('nft', ['--check', '-f', '-'], { input: text });
      expect(String(checked.stderr)).to.equal('');
    });
  }
});
