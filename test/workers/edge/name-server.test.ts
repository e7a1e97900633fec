import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { expect } from 'chai';
import packet from 'dns-packet';
import { createLogger } from '../../../shared/log.js';
import { NameServer } from '../../../workers/edge/caddy/name-server.js';
import { zoneOf } from '../../../workers/edge/caddy/zone.js';
import { Bench, proxied, type TestReplica } from './support.js';

const HOST = `${'long-name-'.repeat(5)}.apps.example.test`;
const RESPONDER = 7;

describe('the name server of the Caddy edge', () => {
  const bench = new Bench();
  let names: NameServer;
  let client: Socket;
  let port: number;

  beforeEach(async () => {
    names = new NameServer(createLogger('test-names', 'silent'), 2_000);
    await names.listen(0, RESPONDER);
    port = Number(names.address.split(':').at(-1));
    client = createSocket('udp4');
  });
  afterEach(async () => {
    client.close();
    names.close();
    await bench.close();
  });

  async function query(type: 'SRV' | 'A' | 'AAAA', name: string) {
    client.send(packet.encode({ type: 'query', id: 5, questions: [{ type, name }] }), port, '127.0.0.1');
    const [bytes] = await once(client, 'message');
    const { answers = [], ...rest } = packet.decode(bytes);
    return { bytes: bytes.length, missing: 'rcode' in rest && rest.rcode === 'NXDOMAIN', answers };
  }
  async function targets(host = HOST): Promise<{ target: string; port: number }[]> {
    const { answers } = await query('SRV', `${host}.plain.ranvier`);
    return answers.flatMap((answer) =>
      answer.type === 'SRV' ? [answer.data as { target: string; port: number }] : [],
    );
  }
  function serve(...replicas: TestReplica[]) {
    return names.serve(zoneOf(proxied(replicas, { host: HOST })));
  }
  const live = () => bench.replica((_req, res) => res.end());

  it('names the replicas that take connections, and their addresses', async () => {
    const replica = await live();
    serve(replica, await bench.deadReplica());
    const [only, ...others] = await targets(HOST.toUpperCase());
    expect(others).to.deep.equal([]);
    expect(only?.port).to.equal(replica.port);
    const { answers } = await query('A', only?.target ?? '');
    expect(answers.map((answer) => ('data' in answer ? answer.data : null))).to.deep.equal(['127.0.0.1']);
    expect(await query('AAAA', only?.target ?? '')).to.deep.include({ answers: [], missing: false });
  });

  it('names the responder where no replica takes connections, and for hosts that it does not know', async () => {
    serve(await bench.deadReplica());
    expect((await targets()).map((record) => record.port)).to.deep.equal([RESPONDER]);
    expect((await targets('other.test')).map((record) => record.port)).to.deep.equal([RESPONDER]);
  });

  it('names no more replicas than fit into an answer, and each of them some time', async () => {
    const replica = await live();
    serve(...Array.from({ length: 40 }, (_, i) => ({ ...replica, id: `replica-${i}` })));
    expect((await query('SRV', `${HOST}.plain.ranvier`)).bytes).to.be.at.most(1_232);
    const seen = new Set<string>();
    for (let i = 0; i < 1_000 && seen.size < 40; i++) for (const { target } of await targets()) seen.add(target);
    expect(seen.size).to.equal(40);
  });

  it('says when what it said last is no longer so, and still knows where a request on its way goes', async () => {
    const [old, fresh] = [await live(), await live()];
    serve(old);
    const [before] = await targets();
    const { left, lastAnswered } = serve(fresh);
    expect(left.map((endpoint) => endpoint.port)).to.deep.equal([old.port]);
    expect(lastAnswered).to.be.closeTo(performance.now(), 5_000);
    expect((await query('A', before?.target ?? '')).answers).to.have.length(1);
    expect((await targets()).map((record) => record.port)).to.deep.equal([fresh.port]);
    expect(serve(fresh)).to.deep.equal({ left: [], lastAnswered: null });
  });

  it('does not know other names, and outlives what is no question', async () => {
    expect((await query('A', 'example.com')).missing).to.equal(true);
    expect((await query('A', 'nobody.plain.ranvier')).missing).to.equal(true);
    client.send(Buffer.from([1, 2, 3]), port, '127.0.0.1');
    client.send(Buffer.alloc(600, 0xff), port, '127.0.0.1');
    expect((await targets()).map((record) => record.port)).to.deep.equal([RESPONDER]);
  });
});
