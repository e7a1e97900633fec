#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { carriedNode } from './package-root.js';

/** If the system's Node.js is older, the command runs with the Node.js that npm installed with the package. */
const MIN_MAJOR = 24;

const node = carriedNode();
if (node === null || Number.parseInt(process.versions.node, 10) >= MIN_MAJOR) {
  await import('../core/node-version.js');
  const { runOperator } = await import('./program.js');
  const code = await runOperator(process.argv.slice(2));
  if (code !== 0) process.exitCode = code;
} else {
  const [, ...args] = process.argv;
  const child = spawn(node, args, { stdio: 'inherit', env: { ...process.env, RANVIER_PARENT: String(process.pid) } });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // A terminal sends Ctrl-C to both processes, so this process does not forward it.
    process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
  }
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}
