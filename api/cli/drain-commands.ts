import type { Command } from 'commander';
import * as drains from './commands/drains.js';
import type { Parts } from './service-commands.js';

/** Adds the commands for drains, which send logs, metrics and traces to collectors. */
export function addDrainCommands(program: Command, { acts }: Pick<Parts, 'acts'>): void {
  const group = program.command('drains').description('send logs, metrics and traces to a collector of OpenTelemetry');
  group
    .command('list', { isDefault: true })
    .alias('ls')
    .description('list the drains, and how far they are behind')
    .action(acts(drains.list));
  group
    .command('add')
    .description('add a drain; with --service, only for that service')
    .argument('<endpoint>', 'the address of the collector, before /v1/logs')
    .option(
      '--signals <names>',
      'logs, metrics and traces, with commas (default: all)',
      names,
      names('logs,metrics,traces'),
    )
    .option('--headers <file>', 'JSON with the headers of each request, such as {"Authorization": "…"}; - reads stdin')
    .option('--name <name>', 'a name for the drain')
    .action(acts(drains.add));
  group
    .command('remove')
    .description('remove a drain')
    .argument('<drain>', 'its id, name or endpoint')
    .action(acts(drains.remove));
}

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}
