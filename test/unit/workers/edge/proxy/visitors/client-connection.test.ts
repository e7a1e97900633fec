import type { Socket } from 'node:net';
import { expect } from 'chai';
import {
  ClientConnection,
  ConnectionSet,
  inOrderOfUse,
} from '../../../../../../workers/edge/proxy/visitors/client-connection.js';

function connection(client: string, { idleSince = 0, exchanges = 0, slowSince = null as number | null } = {}) {
  const socket = { writableLength: slowSince === null ? 0 : 1, bytesWritten: 1, remoteAddress: client };
  return Object.assign(new ClientConnection(socket as unknown as Socket, client), { idleSince, exchanges, slowSince });
}

function setOf(...connections: ClientConnection[]): ConnectionSet {
  const set = new ConnectionSet();
  for (const each of connections) set.add(each);
  return set;
}

describe('The connection of a client', () => {
  it('is slow since the moment from which its other side takes nothing of what waits', () => {
    const socket = { writableLength: 10, bytesWritten: 10 };
    const one = new ClientConnection(socket as unknown as Socket, 'a');
    one.look(100);
    expect(one.slowSince).to.equal(100);
    one.look(200);
    expect(one.slowSince).to.equal(100);
    socket.bytesWritten = 20;
    one.look(300);
    expect(one.slowSince).to.equal(300);
    socket.writableLength = 0;
    one.look(400);
    expect(one.slowSince).to.equal(null);
  });

  it('is slow also if the replica takes nothing of what the client uploads', () => {
    const one = connection('a', { exchanges: 1 });
    one.upload = () => ({ pending: 5, taken: 7 });
    one.look(100);
    one.look(200);
    expect(one.slowSince).to.equal(100);
    expect(one.spare).to.equal(true);
  });
});

describe('The place of a new connection', () => {
  it('is not taken from a connection that is in use', () => {
    expect(setOf(connection('a', { exchanges: 1 })).leastUseful(0)).to.equal(null);
  });

  it('is the one of the connection that is idle longest', () => {
    const [old, young] = [connection('a', { idleSince: 1 }), connection('a', { idleSince: 2 })];
    expect(setOf(young, old).leastUseful(10)).to.equal(old);
  });

  it('is the one of a connection without progress before that of an idle one', () => {
    const [idle, slow] = [connection('a', { idleSince: 1 }), connection('b', { exchanges: 1, slowSince: 5 })];
    expect(inOrderOfUse([idle, slow])[0]).to.equal(slow);
  });

  it('is one of the client that has the most', () => {
    const many = [1, 2, 3].map((idleSince) => connection('many', { idleSince: idleSince + 10 }));
    const one = connection('one', { idleSince: 1 });
    expect(inOrderOfUse([one, ...many])[0]?.client).to.equal('many');
    expect(inOrderOfUse([one, ...many])[1]?.client).to.equal('many');
  });

  it('is given once, and not from a connection that has closed or is used again', () => {
    const [first, second, third] = [1, 2, 3].map((idleSince) => connection('a', { idleSince }));
    if (!first || !second || !third) throw new Error('three connections');
    const set = setOf(first, second, third);
    expect(set.leastUseful(10)).to.equal(first);
    set.delete(first);
    second.exchanges = 1;
    expect(set.leastUseful(11)).to.equal(third);
  });

  it('is looked for among many connections at most every tenth of a second', () => {
    const many = Array.from({ length: 65 }, () => connection('a', { exchanges: 1 }));
    const set = setOf(...many);
    expect(set.leastUseful(1000)).to.equal(null);
    const [first] = many;
    if (first) first.exchanges = 0;
    expect(set.leastUseful(1099)).to.equal(null);
    expect(set.leastUseful(1100)).to.equal(first);
  });

  it('is looked for among few connections each time', () => {
    const one = connection('a', { exchanges: 1 });
    const set = setOf(one, ...Array.from({ length: 63 }, () => connection('a', { exchanges: 1 })));
    expect(set.leastUseful(1000)).to.equal(null);
    one.exchanges = 0;
    expect(set.leastUseful(1001)).to.equal(one);
  });
});
