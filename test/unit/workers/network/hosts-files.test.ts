import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { HostsFiles } from '../../../../workers/network/hosts-files.js';

describe('The names in a private network', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-names-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const neighbours = (address: string) => new Map([['scope', [{ hostName: 'api', alias: '', address }]]]);
  const openFiles = async () => {
    const files = new HostsFiles(folder);
    await files.open();
    return files;
  };
  const written = () => readFile(join(folder, 'scope'), 'utf8');

  it('are written anew by a worker that leads its host again', async () => {
    const [first, second] = [await openFiles(), await openFiles()];
    await first.publish(neighbours('10.0.0.1'), true);
    await second.publish(neighbours('10.0.0.2'), true);
    expect(await written()).to.include('10.0.0.2');
    await first.publish(neighbours('10.0.0.1'), true);
    expect(await written()).to.match(/10\.0\.0\.1\s+api/);
  });

  it('are taken away by a worker that did not write them', async () => {
    const [first, second] = [await openFiles(), await openFiles()];
    await first.publish(neighbours('10.0.0.1'), true);
    await second.publish(new Map(), true);
    expect(await written()).not.to.include('api');
  });
});
