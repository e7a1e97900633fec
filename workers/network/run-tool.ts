import { execFile } from 'node:child_process';
import { SYSTEM_PATH } from '../core/command-wrappers.js';

const TIMEOUT_MS = 20_000;

/** Runs a tool of the host, and resolves to its output. Rejects with its error output. */
export function runTool(file: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, env: { PATH: SYSTEM_PATH, LANG: 'C' }, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(file, [...args], options, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message));
      else resolve(stdout);
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** Runs a program of `network-scripts.ts`. `enter` is a command that runs it in a namespace. */
export function runScript(
  script: string,
  args: readonly string[],
  input = '',
  enter: readonly string[] = [],
): Promise<string> {
  const [file = '', ...rest] = [...enter, '/bin/sh', '-c', script, 'network', ...args];
  return runTool(file, rest, input);
}

/** Runs an nftables script, which is applied completely or not at all. */
export function nft(script: string, enter: readonly string[] = []): Promise<string> {
  const [file = '', ...rest] = [...enter, 'nft', '-f', '-'];
  return runTool(file, rest, script);
}

/** Removes a table of the family `inet`. Does nothing if the table does not exist. */
export async function removeTable(table: string, enter: readonly string[] = []): Promise<void> {
  await nft(`delete table inet ${table}\n`, enter).catch(() => undefined);
}
