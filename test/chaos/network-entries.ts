import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { namePrefix } from '../../workers/network/network-model.js';
import { tableName } from '../../workers/network/network-rules.js';
import { SlotFiles } from '../../workers/network/slot-files.js';
import type { Platform } from '../support/platform.js';
import { ownedReplicas } from './chaos-target.js';
import { afterSweeps, type Entry, listFolder } from './entries.js';

const run = promisify(execFile);

/** Finds network namespaces, links and firewall rules that belong to no replica. */
export function networkEntries(platform: Platform): Promise<Entry> {
  return afterSweeps('namespaces, links and rules that no replica owns', async () => {
    const token = await platform.sandboxToken();
    const owned = await ownedReplicas(platform);
    const slots = await new SlotFiles(`${platform.dataDir}/network`).all();
    const wanted = slots.filter(({ id }) => owned.some((replica) => id.includes(replica))).map(({ name }) => name);
    const names = await Promise.all(['/run/netns', '/sys/class/net'].map(listFolder));
    const rules = await run('nft', ['list', 'set', 'inet', tableName(token), 'own']).catch(() => ({ stdout: '' }));
    const ruled = rules.stdout.match(new RegExp(`${namePrefix(token)}\\w+`, 'g')) ?? [];
    const found = [...names.flat().filter((name) => name.startsWith(namePrefix(token))), ...ruled];
    return { counted: found.length, wrong: [...new Set(found.filter((name) => !wanted.includes(name)))] };
  });
}
