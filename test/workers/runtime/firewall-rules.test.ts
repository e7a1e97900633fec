import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { type FirewallState, rulesOf } from '../../../workers/runtime/process/firewall-rules.js';

const STATE: FirewallState = {
  table: 'ranvier_0123456789abcdef',
  dataDir: '/var/lib/ranvier',
  ports: [
    { port: 20_002, uid: 300_002 },
    { port: 20_001, uid: 300_001 },
  ],
  edgeUsers: [0, 998],
  hostedUsers: { first: 300_000, last: 499_999 },
};

describe('Firewall rules', () => {
  it('name the ports with their users, in order, and the users of the edge', () => {
    const rules = rulesOf(STATE);
    expect(rules).to.contain('elements = { 20001, 20002 }');
    expect(rules).to.contain('elements = { 20001 . 300001, 20002 . 300002 }');
    expect(rules).to.contain('meta skuid != { 0, 998 } tcp dport . meta skuid != @own reject');
    expect(rules).to.contain('meta skuid 300000-499999');
  });

  it('close a port that was given back to everybody but the edge', () => {
    const rules = rulesOf({ ...STATE, ports: [...STATE.ports, { port: 20_003, uid: null }] });
    expect(rules).to.contain('elements = { 20001, 20002, 20003 }');
    expect(rules).to.contain('elements = { 20001 . 300001, 20002 . 300002 }');
  });

  it('replace only their own table, and cannot be broken out of by the name of a folder', () => {
    const rules = rulesOf({ ...STATE, dataDir: '/x" } flush ruleset #' });
    expect(rules).to.not.contain('flush');
    expect(rules.match(/delete table .*/g)).to.deep.equal(['delete table inet ranvier_0123456789abcdef']);
  });

  for (const [name, ports] of [
    ['no port', []],
    ['ports', STATE.ports],
  ] as const) {
    it(`are valid for nft, with ${name} (skipped if nft does not work)`, function () {
      if (spawnSync('nft', ['list', 'tables']).status !== 0) this.skip();
      const checked = spawnSync('nft', ['--check', '-f', '-'], { input: rulesOf({ ...STATE, ports }) });
      expect(String(checked.stderr)).to.equal('');
    });
  }
});
