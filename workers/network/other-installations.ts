import { exists } from '../../shared/core/exists.js';
import { connectionTable } from './connection-bounds.js';
import { namePrefix } from './network-model.js';
import { NETWORK_TABLE, tableName } from './network-rules.js';
import { HOST_NAMESPACE, removeStrays } from './parent-namespace.js';
import { nft, removeTable } from './run-tool.js';

/** Returns other installations' nftables tables. A comment in a table names the installation's data folder. */
export async function foreignTables(prefix: string, token: string) {
  // List all tables in one call. Between two calls, an installation that stops could remove its table.
  const listed = (await nft('list ruleset inet\n')).matchAll(
    new RegExp(`^table inet ${prefix}([0-9a-f]{16}) \\{\\n\\s*comment "([^"]*)"$`, 'gm'),
  );
  return [...listed].flatMap(([, other = '', comment = '']) => (other === token ? [] : [{ token: other, comment }]));
}

/** Returns the networks of other installations on this host. */
export async function foreignNetworks(token: string) {
  const tables = await foreignTables(NETWORK_TABLE, token);
  return tables.flatMap(({ token: other, comment }) => {
    const [, block, dataDir] = /^(\S+) (\/.*)$/.exec(comment) ?? [];
    return block === undefined || dataDir === undefined ? [] : [{ token: other, block, dataDir }];
  });
}

/** Removes the networks of installations whose data folder no longer exists. */
export async function removeAbandonedNetworks(token: string): Promise<void> {
  for (const other of await foreignNetworks(token)) {
    if (await exists(other.dataDir)) continue;
    await removeStrays(HOST_NAMESPACE, namePrefix(other.token)).catch(() => undefined);
    for (const table of [tableName(other.token), connectionTable(other.token)]) await removeTable(table);
  }
}
