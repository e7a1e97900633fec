#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { type Command, CommanderError } from 'commander';
import { CliError, EXIT } from './exit-codes.js';
import { createProgram } from './program.js';
import { escaped } from './terminal-text.js';

/** `rnv`, the command line for users. It uses only the API, and imports no server code. */

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];
const interruption = new AbortController();

/** Adds the command `completion`. Loads the library that implements it only if this command is run. */
async function addCompletion(program: Command, [command]: readonly string[]): Promise<void> {
  if (command === 'completion' || command === 'complete') {
    const { default: tab } = await import('@bomb.sh/tab/commander');
    tab(program, { completionCommandName: 'completion' });
    return;
  }
  program
    .command('completion')
    .description('print the completion script of a shell')
    .argument('<shell>', SHELLS.join(', '))
    .addHelpText('after', '\nExample:\n  $ source <(rnv completion bash)');
}

function versionOf(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

async function main(args: readonly string[]): Promise<number> {
  const { env, stdin, stdout, stderr } = process;
  const surroundings = { env, cwd: process.cwd(), args, stdin, stdout, stderr, signal: interruption.signal };
  try {
    const program = createProgram(surroundings, versionOf());
    await addCompletion(program, args);
    await program.parseAsync(args, { from: 'user' });
    return EXIT.done;
  } catch (error) {
    // Commander has already printed its message and the usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (stderr.isTTY) stderr.write('\r\u001b[2K');
    if (interruption.signal.aborted) {
      stderr.write('Interrupted. Queued work continues. See rnv status\n');
      return EXIT.interrupted;
    }
    if (error instanceof CliError) {
      if (error.message !== '') stderr.write(`${error.message}\n`);
      return error.exitCode;
    }
    const text = error instanceof Error ? ((env.RNV_DEBUG ? error.stack : null) ?? error.message) : String(error);
    stderr.write(`${escaped(text)}\n`);
    return EXIT.unexpected;
  }
}

process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());
// EPIPE: the program that reads rnv's output, for example `head`, has exited.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.unexpected),
);

const code = await main(process.argv.slice(2));
// Exits only after all output is written: stdout may be a slow pipe, and an earlier exit would lose output.
process.stdout.write('', () => process.exit(code));
