import { readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OWN_PATH } from '../../core/own-programs.js';
import { isText, recordOf } from '../files/json-values.js';
import type { OwnTools } from './choose-tools.js';
import type { Machine } from './tool-packages.js';

/** Returns the Node.js that runs the platform, and the npm that this host's commands find. */
export async function ownTools(): Promise<OwnTools> {
  return { node: process.versions.node, npm: await ownNpm() };
}

async function ownNpm(): Promise<OwnTools['npm']> {
  for (const folder of OWN_PATH.split(':')) {
    const program = await realpath(join(folder, 'npm')).catch(() => null);
    if (program === null) continue;
    // `program` is the file bin/npm-cli.js of the npm package, whose package.json is one folder higher.
    const text = await readFile(join(dirname(dirname(program)), 'package.json'), 'utf8').catch(() => '{}');
    const { version, engines }: Record<string, unknown> = JSON.parse(text);
    if (!isText(version)) return null;
    const { node } = recordOf(engines);
    return { version, node: isText(node) ? node : '*' };
  }
  return null;
}

/** Returns the facts about this host that decide which npm package of a tool fits. */
export async function thisMachine(): Promise<Machine> {
  const { platform, arch } = process;
  const flags = platform === 'linux' ? await readFile('/proc/cpuinfo', 'latin1').catch(() => '') : ' avx2 ';
  return { platform, arch, avx2: /\bavx2\b/.test(flags) };
}

/** Returns the tools in a Node.js base image, as far as its tag (`node:22-bookworm-slim`) shows them. */
export function toolsOfImage(image: string): OwnTools {
  const version = /:v?(\d+(?:\.\d+){0,2})(?=[-@]|$)/.exec(image)?.[1];
  return { node: version ?? null, npm: null };
}
