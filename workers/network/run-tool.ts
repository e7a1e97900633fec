import { execFile } from 'node:child_process';
import { SYSTEM_PATH } from '../command-wrappers.js';

const TIMEOUT_MS = 20_000;

/** Runs a tool of the host with this text as its standard input. Rejects with what it printed as its error. */
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

/** Runs a shell program of `network-scripts.ts`. */
export function runScript(script: string, args: readonly string[], input = ''): Promise<string> {
  return runTool('/bin/sh', ['-c', script, 'network', ...args], input);
}

/** Runs an nftables script. Either all of it applies or nothing. */
export function nft(script: string): Promise<string> {
  return runTool('nft', ['-f', '-'], script);
}
