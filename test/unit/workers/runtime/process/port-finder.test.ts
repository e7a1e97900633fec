import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import type { ReplicaRow } from '../../../../../workers/replicas/rows.js';
import { PortFinder } from '../../../../../workers/runtime/process/port-finder.js';
import type { ReleaseSpec } from '../../../../../workers/runtime/runtime-driver.js';
import type { Sandbox } from '../../../../../workers/sandbox/sandbox.js';
import { listen } from '../../../../support/http.js';

/** Larger than any process id, so the process has no sockets. */
const NO_PROCESS = 2 ** 30;

describe('The search for the port of an application', () => {
  let server: Server;
  let row: ReplicaRow;
  const spec = { configuration: { port: 1 } } as ReleaseSpec;
  beforeEach(async () => {
    server = createServer();
    row = { pid: NO_PROCESS, address: '127.0.0.1', given_port: await listen(server) } as ReplicaRow;
  });
  afterEach(() => {
    server.close();
  });

  const finderIn = (level: 'namespaces' | 'rootless') =>
    new PortFinder({ allNetworks: { level } } as unknown as Sandbox);

  it('ends at PORT if that accepts connections, without a look at sockets', async () => {
    expect(await finderIn('namespaces').find(row, spec)).to.equal(row.given_port);
  });

  it('looks at sockets if PORT refuses', async () => {
    server.close();
    await once(server, 'close');
    expect(await finderIn('namespaces').find(row, spec)).to.equal(null);
  });

  it('looks at sockets of a rootless network, which accepts every connection', async () => {
    expect(await finderIn('rootless').find(row, spec)).to.equal(null);
  });
});
