import { exists } from '../../shared/core/exists.js';
import { connectionTable } from './connection-bounds.js';
import { HOST_GROUND, removeStrays } from './ground.js';
import { namePrefix } from './network-model.js';
import { NETWORK_TABLE, tableName } from './network-rules.js';
import { nft } from './run-tool.js';

interface ForeignTable {
  token: string;
  block: string;
  dataDir: string;
}

/** The tables of other installations of this host. */
export async function otherTables(token: string): Promise<ForeignTable[]> {
  const found: ForeignTable[] = [];
  for (const [, other = ''] of (await nft('list tables\n')).matchAll(
    new RegExp(`^table inet ${NETWORK_TABLE}([0-9a-f]{16})$`, 'gm'),
  )) {
    if (other === token) continue;
    const text = await nft(`list table inet ${tableName(other)}\n`).catch(() => '');
    const [, block, dataDir] = /^\s*comment "(\S+) (\/[^"]*)"$/m.exec(text) ?? [];
    if (block !== undefined && dataDir !== undefined) found.push({ token: other, block, dataDir });
  }
  return found;
}

export async function blocksOfOthers(token: string): Promise<string[]> {
  return (await otherTables(token)).map(({ block }) => block);
}

/** Removes what installations left whose data folder is gone. */
export async function removeAbandoned(token: string): Promise<void> {
  for (const other of await otherTables(token)) {
    if (await exists(other.dataDir)) continue;
    await removeStrays(HOST_GROUND, namePrefix(other.token)).catch(() => undefined);
    for (const table of [`inet ${tableName(other.token)}`, connectionTable(other.token)])
      await nft(`delete table ${table}\n`).catch(() => undefined);
  }
}
