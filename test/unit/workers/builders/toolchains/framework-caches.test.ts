import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  frameworkCaches,
  isFrameworkCache,
  linkKept,
} from '../../../../../workers/builders/toolchains/framework-caches.js';
import { useFolders } from '../../../../support/folders.js';

describe('Caches of frameworks', () => {
  const newFolder = useFolders();
  it('are those of the frameworks that the project depends on', () => {
    expect(frameworkCaches({ dependencies: {} })).to.deep.equal(['node_modules/.cache']);
    expect(frameworkCaches({ dependencies: { next: '15', parcel: '2' } })).to.deep.equal([
      'node_modules/.cache',
      '.next/cache',
      '.parcel-cache',
    ]);
  });

  it('are no part of an image, at any depth', () => {
    for (const path of [
      ...['.next/cache', 'apps/web/.next/cache', 'node_modules/.cache', 'a/node_modules/.astro'],
      ...['node_modules/.vite-temp', 'tmp/cache/assets'],
    ]) {
      expect(isFrameworkCache(path), path).to.equal(true);
    }
    for (const path of [
      ...['.next', 'next/cache', 'x.next/cache', 'cache', '.next/cache/x', 'tmp/cache/bootsnap'],
      ...['node_modules/vite', '.vite'],
    ]) {
      expect(isFrameworkCache(path), path).to.equal(false);
    }
  });

  it('are linked into the project, without node_modules where nothing was installed', async () => {
    const root = await newFolder();
    const [project, cache] = [join(root, "a 'b"), join(root, 'cache')];
    await mkdir(join(project, '.turbo/cache'), { recursive: true });
    const folders = ['node_modules/.cache', '.next/cache', '.turbo/cache'];
    execFileSync(
      '/bin/sh',
      [
        '-c',
        `${linkKept(
          folders.map((folder) => join("a 'b", folder)),
          cache,
        )}true`,
      ],
      { cwd: root },
    );
    expect(await readlink(join(project, '.next/cache'))).to.equal(join(cache, 'kept-a-b-next-cache'));
    expect(existsSync(join(project, 'node_modules'))).to.equal(false);
    expect(await readdir(cache)).to.deep.equal(['kept-a-b-next-cache']);
  });
});
