import { type Command, InvalidArgumentError, Option } from 'commander';
import * as alerts from './commands/alerts.js';
import * as drains from './commands/drains.js';
import * as environments from './commands/environments.js';
import * as projects from './commands/projects.js';
import * as sources from './commands/template-sources.js';
import { templates } from './commands/templates.js';
import { duration, listing, type Parts } from './service-commands.js';

export function addWorkspaceCommands(program: Command, parts: Parts): void {
  addAlerts(program, parts);
  addEnvironments(program, parts);
  addTemplates(program, parts);
  addDrains(program, parts);
}

const METRICS = 'cpu, memory, errors, latency_p99, restarts, disk or certificate';

function addAlerts(program: Command, { acts }: Parts): void {
  const rules = program.command('alerts').description('manage the alert rules of the workspace');
  listing(rules, 'list the alert rules, with the services for which they fire').action(acts(alerts.alerts));
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

function addEnvironments(program: Command, { acts, waits }: Parts): void {
  const group = program.command('environments').description('manage the environments of the workspace');
  listing(group, 'list the environments').action(acts(environments.list));
  waits(group.command('create'))
    .description('create an environment, empty or as a copy of another one')
    .argument('<name>', 'the name of the environment')
    .option('--project <name>', 'its project (default: that of the environment which is cloned)')
    .option('--protected', 'only admins may change it')
    .option('--clone-from <name>', 'the environment to copy, as project/environment or by its id')
    .option('--data <data>', 'what databases and volumes begin with: none or latestBackup (default: none)')
    .option('--values <file>', 'JSON with the values of secrets by service.KEY; - reads stdin')
    .option('--deploy', 'deploy the copies')
    .action(acts(environments.create));
  const all = program.command('projects').description('manage the projects of the workspace');
  listing(all, 'list the projects').action(acts(projects.list));
  all
    .command('create')
    .description('create a project with a first environment, Production')
    .argument('<name>', 'the name of the project')
    .option('--color <color>', 'its color in the console', 'blue')
    .action(acts(projects.create));
}

function addTemplates(program: Command, { acts }: Parts): void {
  const catalog = program.command('templates').description('list templates, and add your own');
  listing(catalog, 'list the templates').action(acts(templates));
  catalog.command('sources').description('list the repositories with templates').action(acts(sources.sources));
  catalog
    .command('add')
    .description('add a repository whose folder .ranvier/templates has templates')
    .argument('<name>', 'the first part of the names of its templates')
    .argument('<repository>', 'its address')
    .option('--branch <branch>', 'the branch that is read (default: main)')
    .action(acts(sources.add));
  catalog
    .command('refresh')
    .description('read a repository with templates again')
    .argument('<name>', 'the name of the source')
    .action(acts(sources.refresh));
  catalog
    .command('remove')
    .description('remove a repository with templates; what was made of them stays')
    .argument('<name>', 'the name of the source')
    .action(acts(sources.remove));
}

function addDrains(program: Command, { acts }: Parts): void {
  const group = program.command('drains').description('send logs, metrics and traces to a collector of OpenTelemetry');
  listing(group, 'list the drains, and how far they are behind').action(acts(drains.list));
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
