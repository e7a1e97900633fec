import { Writable } from 'node:stream';
import { expect } from 'chai';
import { pino } from 'pino';
import { loadConfig } from '../../../../shared/core/config.js';
import { openNetwork } from '../../../../workers/network/open-network.js';
import { useFolders } from '../../../support/folders.js';

describe('The network of a host that gives no namespaces', () => {
  const newFolder = useFolders();
  let dataDir: string;
  before(async () => {
    dataDir = await newFolder();
  });

  const open = async (network: string | undefined) => {
    const lines: string[] = [];
    const stream = new Writable({
      write: (line, _, done) => {
        lines.push(String(line));
        done();
      },
    });
    const config = loadConfig(environment(network));
    const networks = await openNetwork({ config, log: pino({}, stream), edgeUsers: [0] }, 'none');
    return { networks, log: lines.join('') };
  };
  const environment = (network: string | undefined) => ({
    DATA_DIR: dataDir,
    DATABASE_URL: 'postgres://localhost/none',
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
    ...(network === undefined ? {} : { NETWORK: network }),
  });

  it('is shared by default, with the reason in the log', async () => {
    const { networks, log } = await open(undefined);
    expect(networks).to.deep.equal({ current: null, all: null });
    expect(log).to.match(/share the network of the host.*(no namespaces|not root on Linux)/);
  });

  it('is an error if namespaces were asked for', async () => {
    const refusal = await open('namespaces').catch((error: unknown) => error);
    expect(refusal).to.match(/NETWORK=namespaces is not possible on this host: .*(no namespaces|not root on Linux)/);
  });

  it('is an error too if the level without root was asked for', async () => {
    const refusal = await open('rootless').catch((error: unknown) => error);
    expect(refusal).to.match(/NETWORK=rootless is not possible on this host: .*(is root|no user namespaces)/);
  });
});
