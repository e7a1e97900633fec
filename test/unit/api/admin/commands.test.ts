import { expect } from 'chai';
import { Command, CommanderError } from 'commander';
import { addCommands } from '../../../../api/admin/commands.js';
import { refuseSwallowedOptions } from '../../../../api/admin/option-values.js';

const ID = '00000000-0000-4000-8000-000000000000';

async function problemOf(...args: string[]): Promise<string | undefined> {
  let ran = false;
  let printed = '';
  const program = new Command('admin').exitOverride().configureOutput({
    writeErr: (text) => {
      printed += text;
    },
  });
  addCommands(program, async () => {
    ran = true;
  });
  for (const command of program.commands.flatMap(({ commands }) => commands)) refuseSwallowedOptions(command);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    expect(ran).to.equal(false);
    return printed;
  }
  expect(ran).to.equal(true);
  return undefined;
}

describe('The admin command line', () => {
  it('takes every documented command', async () => {
    const lines = [
      'workspace create --name Acme --owner a@example.org',
      `workspace configure --workspace ${ID} --set budget=3 --set description=a=b`,
      `workspace configure --workspace ${ID} --plan pro`,
      'user create --email a@example.org --password=--verified-not --verified',
      'user reset-mfa --email a@example.org',
      `member add --workspace ${ID} --email a@example.org --role viewer`,
      `member remove --workspace ${ID} --email a@example.org`,
      `key create --workspace ${ID} --email a@example.org --scope read --name ci --expires 2030-01-31`,
      `key list --workspace ${ID}`,
      `key revoke --id ${ID}`,
      `registry add --workspace ${ID} --name ours --server registry.example.org --username robot --password secret`,
      `registry list --workspace ${ID}`,
      `registry remove --id ${ID}`,
      'secrets rotate',
      'secrets forget --id 1f2e',
    ];
    for (const line of lines) expect(await problemOf(...line.split(' ')), line).to.equal(undefined);
  });

  it('names the option that is missing, unknown or wrong', async () => {
    const key = `key create --workspace ${ID} --email a@example.org --name ci`;
    const cases: [line: string, problem: RegExp][] = [
      ['workspace create --name Acme', /required option '--owner <email>' not specified/],
      [
        'workspace create --name  --owner a@example.org',
        /'--name <name>' argument '' is invalid. It must not be empty/,
      ],
      [`workspace configure --workspace ${ID}`, /--set or --plan is missing/],
      [`workspace configure --workspace ${ID} --set budget`, /'budget' is invalid. It must be key=value/],
      ['user create --email a@example.org --password --verified', /'--password <password>' argument missing/],
      ['user create --email a@example.org --role owner', /unknown option '--role'/],
      ['user create surplus --email a@example.org', /too many arguments/],
      [`member add --workspace ${ID} --email a@example.org --role king`, /--role must be one of viewer, developer/],
      [`${key} --scope all`, /--scope must be one of read, write/],
      [`${key} --scope read --expires tomorrow`, /'tomorrow' is invalid. It must be an ISO 8601 time/],
      ['key revoke --id 1', /'1' is invalid. It must be a UUID/],
      ['key destroy', /unknown command 'destroy'/],
    ];
    for (const [line, problem] of cases) expect(await problemOf(...line.split(' ')), line).to.match(problem);
  });
});
