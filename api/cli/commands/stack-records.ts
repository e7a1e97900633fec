import type { StackApply } from '../api-types.js';
import type { Cli } from '../cli.js';
import { ago, oneLine } from '../terminal-text.js';
import type { WaitOptions } from '../wait-until.js';
import { followApply } from './stacks.js';

export async function applies(cli: Cli, stack: string): Promise<void> {
  const api = await cli.client();
  const { applies: found } = await api.get<{ applies: StackApply[] }>(`/stacks/${stack}/applies`);
  const rows = found.map(({ id, status, createdAt, actor, rollbackOf }) => [
    ...[id, status, ago(Date.now() - Date.parse(createdAt)), oneLine(actor)],
    rollbackOf === null ? '' : `back to ${rollbackOf}`,
  ]);
  cli.printRows({ applies: found }, rows);
}

/** Rolls a stack back to the releases that were live after an apply, all together or none. */
export async function rollback(cli: Cli, stack: string, applyId: string, options: WaitOptions): Promise<void> {
  await cli.confirm(`Take ${stack} back to what was live after the apply ${applyId}?`);
  const api = await cli.client();
  const { apply } = await api.write<{ apply: StackApply }>('POST', `/stacks/${stack}/rollback`, { applyId });
  if (options.detach) return cli.printData({ apply }, apply.id);
  await followApply(cli, stack, apply.id, options.timeout);
}
