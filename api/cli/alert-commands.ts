import { type Command, InvalidArgumentError, Option } from 'commander';
import * as alerts from './commands/alerts.js';
import { duration, type Parts } from './service-commands.js';

const METRICS = 'cpu, memory, errors, latency_p99, restarts, disk or certificate';

/** Adds the commands for alert rules. */
export function addAlertCommands(program: Command, { acts }: Pick<Parts, 'acts'>): void {
  const rules = program.command('alerts').description('manage the alert rules of the workspace');
  rules
    .command('list', { isDefault: true })
    .alias('ls')
    .description('list the alert rules, with the services for which they fire')
    .action(acts(alerts.alerts));
  rules
    .command('add')
    .description('send a message when a value of a service is too high')
    .argument('<metric>', METRICS)
    .addOption(
      new Option(
        '--above <number>',
        'the threshold: per cent, milliseconds, restarts, or the days a certificate must have left',
      )
        .argParser(threshold)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--for <duration>', 'how long the value must be above, such as 5m')
        .argParser(duration)
        .default(300_000, '5m'),
    )
    .option('--all', 'for every service; so it is too if no service is selected')
    .action(acts(alerts.add));
  rules
    .command('remove')
    .description('remove an alert rule')
    .argument('<id>', 'the id of the rule, or its last characters')
    .action(acts(alerts.remove));
}

function threshold(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number.');
  return number;
}
