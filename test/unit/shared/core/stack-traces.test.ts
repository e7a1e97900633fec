import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { mapStackTraces } from '../../../../shared/core/stack-traces.js';
import { useFolders } from '../../../support/folders.js';

/** One segment: line 1, column 1 of the module is line 3, column 5 of its source. */
const MAP = { version: 3, sources: ['../made.ts'], names: [], mappings: 'AAEI' };

describe('mapStackTraces', () => {
  const newFolder = useFolders();
  const before = Error.prepareStackTrace;
  let folder: string;

  beforeEach(async () => {
    folder = await newFolder();
    mapStackTraces();
  });
  afterEach(async () => {
    Error.prepareStackTrace = before;
  });

  async function errorOf(code: string): Promise<Error> {
    const path = join(folder, 'dist.mjs');
    await writeFile(path, code);
    const { error } = await import(pathToFileURL(path).href);
    return error;
  }

  it('names the source, with a map that is read when the trace is', async () => {
    const error = await errorOf(`export const error = new RangeError('too far');`);
    await writeFile(join(folder, 'dist.mjs.map'), JSON.stringify(MAP));
    const [title, frame] = error.stack?.split('\n') ?? [];
    expect(title).to.equal('RangeError: too far');
    expect(frame).to.equal(`    at ${join(folder, '../made.ts')}:3:5`);
  });

  it('leaves a frame as it is if there is no map', async () => {
    const error = await errorOf(`export const error = new Error('plain');`);
    const url = pathToFileURL(join(folder, 'dist.mjs')).href;
    expect(error.stack).to.match(/^Error: plain\n/);
    expect(error.stack).to.contain(`at ${url}:1:22`);
  });

  it('has a title for an error whose name cannot be read', async () => {
    const error = await errorOf(
      `export const error = Object.defineProperty(new Error(), 'name', { get() { throw new Error('no'); } });`,
    );
    expect(error.stack).to.match(/^Error\n {4}at /);
  });
});
