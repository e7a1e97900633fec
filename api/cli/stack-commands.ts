import { type Command, InvalidArgumentError } from 'commander';
import { importFile } from './commands/import.js';
import * as records from './commands/stack-records.js';
import * as stacks from './commands/stacks.js';
import { newStack } from './commands/templates.js';
import type { Parts } from './service-commands.js';

export function addStackCommands(program: Command, { acts, waits }: Parts): void {
  const placed = (command: Command) =>
    command
      .argument('[file]', 'the file (default: ranvier.yaml)')
      .option('--stack <name>', 'the name of the stack (default: the name of the folder)')
      .option('--environment <name>', 'its environment, as project/environment or by its id');
  placed(program.command('plan'))
    .description('show what an apply of a file would change')
    .option('--exit-code', 'end with 3 if there are changes')
    .action(acts(stacks.plan));
  waits(placed(program.command('apply')))
    .description('change an environment to what a file says')
    .option('--values <file>', 'JSON with the values of secrets by service.KEY; - reads stdin')
    .action(acts(stacks.apply));
  program
    .command('import')
    .description('turn a file of Compose, Render, Heroku, Fly, Railway or Kamal into ranvier.yaml')
    .argument('<file>', 'docker-compose.yml, render.yaml, app.json, fly.toml, railway.json or deploy.yml')
    .option('--format <name>', 'compose, render, heroku, fly, railway or kamal (default: by the name of the file)')
    .option('--repository <address>', 'the repository from which services are built')
    .option('--force', 'overwrite ranvier.yaml')
    .action(acts(importFile));
  program
    .command('new')
    .description('write ranvier.yaml from a template')
    .argument('<template>', 'its name, as rnv templates prints it')
    .option('--set <name=value>', 'the answer to a question of the template; can be repeated', answer, {})
    .option('--force', 'overwrite ranvier.yaml')
    .action(acts(newStack));
  placed(program.command('pull')).description('write an environment into a file').action(acts(stacks.pull));
  const known = program.command('stacks').description('see the applies of a stack, and go back to one');
  known
    .command('applies')
    .description('list the newest applies of a stack, with their ids')
    .argument('<stack>', 'the name of the stack')
    .action(acts(records.applies));
  waits(known.command('rollback'))
    .description('bring back what was live after an apply, all services together or none')
    .argument('<stack>', 'the name of the stack')
    .argument('<apply>', 'the id of an apply that succeeded')
    .action(acts(records.rollback));
}

function answer(text: string, before: Record<string, string>): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be like title=value.');
  return { ...before, [name]: value };
}
