import { expect } from 'chai';
import { checkHost, type Finding, findingLines, type HostFacts } from '../../../../shared/operator/check-host.js';

const FACTS: HostFacts = {
  isRoot: true,
  isLinux: true,
  installer: 'apt-get install',
  programs: ['git', 'runc', 'conmon', 'nft', 'buildah'],
  hasControlGroups: true,
  dataDir: '/var/lib/ranvier',
  disk: { freeBytes: 50e9, freeInodes: 1_000_000 },
  memoryBytes: 4e9,
  ports: [
    { setting: 'PORT', port: 3000, isTaken: false },
    { setting: 'EDGE_PORT', port: 8080, isTaken: false },
  ],
  isClockSynchronized: true,
  platform: null,
};

function faults(changes: Partial<HostFacts>): Finding[] {
  return checkHost({ ...FACTS, ...changes }).filter(({ state }) => state !== 'ok');
}

describe('The check of a host', () => {
  it('finds nothing wrong with a host that has everything', () => {
    expect(faults({})).to.deep.equal([]);
    expect(faults({ installer: null, isClockSynchronized: null, disk: null })).to.deep.equal([]);
  });

  it('names the packages that install what is missing', () => {
    const found = faults({ programs: ['runsc', 'conmon'], installer: 'dnf install' });
    expect(found.map(({ name, state, remedy }) => [name, state, remedy])).to.deep.equal([
      ['git', 'missing', 'dnf install git'],
      ['network tools', 'weak', 'dnf install nftables iproute2'],
      ['buildah', 'weak', 'dnf install buildah'],
    ]);
  });

  it('refuses a port that another program has, but not one that the running platform has', () => {
    const ports = FACTS.ports.map((port) => ({ ...port, isTaken: true }));
    expect(faults({ ports }).map(({ name }) => name)).to.deep.equal(['port 3000', 'port 8080']);
    const platform = { isReady: true, onlineWorkers: 1, clockAheadMs: 20 };
    expect(faults({ ports, platform })).to.deep.equal([]);
  });

  it('reports a platform without a worker, with another clock, or without its database', () => {
    const names = (platform: HostFacts['platform']) => faults({ platform }).map(({ name }) => name);
    expect(names({ isReady: true, onlineWorkers: 0, clockAheadMs: 0 })).to.deep.equal(['workers']);
    expect(names({ isReady: false, onlineWorkers: 1, clockAheadMs: -9_000 })).to.deep.equal([
      'API',
      "database's clock",
    ]);
    expect(names({ problem: 'the database does not answer' })).to.deep.equal(['database']);
  });

  it('writes a line for each finding, and below it what to do', () => {
    const text = findingLines(faults({ disk: { freeBytes: 1e9, freeInodes: 5 }, isRoot: false, memoryBytes: 1e9 }));
    expect(text.split('\n').map((line) => line.trim().slice(0, 19))).to.deep.equal([
      'weak     root    ho',
      '→ run it as root, o',
      'weak     disk    th',
      '→ free 10 GB, or se',
      'weak     memory  bu',
      '→ use a host with 2',
      '',
    ]);
  });
});
