import type { StackApply } from '../api-types.js';
import type { Cli } from '../cli.js';
import { ago, oneLine, table } from '../terminal-text.js';
import { followApply } from './stacks.js';

export interface RollbackOptions {
  detach?: boolean;
  /** Maximum time to wait until the apply is finished, in milliseconds. */
  timeout: number;
}

/** Lists the newest applies of a stack, with the ids that a rollback accepts. */
export async function applies(cli: Cli, stack: string): Promise<void> {
  const api = await cli.client();
  const { applies: found } = await api.get<{ applies: StackApply[] }>(`/stacks/${stack}/applies`);
  if (cli.json) return cli.terminal.json({ applies: found });
  const rows = found.map(({ id, status, createdAt, actor, rollbackOf }) => [
    ...[id, status, ago(Date.now() - Date.parse(createdAt)), oneLine(actor)],
    rollbackOf === null ? '' : `back to ${rollbackOf}`,
  ]);
  for (const line of table(rows)) cli.terminal.data(line);
}

/** Rolls a stack back to the releases that were live after an apply, all together or none. */
export async function rollback(cli: Cli, stack: string, applyId: string, options: RollbackOptions): Promise<void> {
  await cli.confirm(`Take ${stack} back to what was live after the apply ${applyId}?`);
  const api = await cli.client();
  const { apply } = await api.write<{ apply: StackApply }>('POST', `/stacks/${stack}/rollback`, { applyId });
  if (options.detach) return cli.json ? cli.terminal.json({ apply }) : cli.terminal.data(apply.id);
  await followApply(cli, stack, apply.id, options.timeout);
}
