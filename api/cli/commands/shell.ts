import type { WebSocket } from 'ws';
import type { Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { deliver, openSocket, sendAll } from '../remote-socket.js';

/**
 * Opens a shell in a replica of a service. Exits with the shell's exit code. Throws with exit code 2 if there is no
 * terminal.
 */
export async function shell(cli: Cli, name?: string): Promise<void> {
  const { stdin, stdout } = cli.streams;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new CliError(EXIT.usage, 'A shell needs a terminal. Without one, use rnv exec -- command');
  const service = await cli.service(name);
  const size = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const socket = await open(cli, service, size());
  const ended = endOf(cli, socket);
  const resize = () => socket.send(JSON.stringify({ resize: size() }));
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) deliver(data, stdout, socket);
  });
  stdin.setRawMode?.(true);
  stdout.on('resize', resize);
  sendAll(stdin, socket);
  try {
    await ended;
  } finally {
    stdout.off('resize', resize);
    stdin.setRawMode?.(false);
    stdin.destroy();
  }
}

/**
 * Runs the command after `--` in a replica, and forwards stdin, stdout and stderr. Exits with the command's exit code.
 */
export async function exec(cli: Cli, first: string | undefined, others: readonly string[]): Promise<void> {
  const { command, streams } = cli;
  const service = await cli.serviceBefore([first, ...others], { isOptional: false, example: 'rnv exec -- ls -l' });
  // One argument is a command line for the shell; several are a program with its arguments.
  const socket = await open(cli, service, { command: command.length === 1 ? command[0] : command });
  const ended = endOf(cli, socket);
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) deliver(data.subarray(1), data[0] === ERROR_STREAM ? streams.stderr : streams.stdout, socket);
  });
  sendAll(streams.stdin, socket);
  try {
    await ended;
  } finally {
    streams.stdin.destroy();
  }
}

/** First byte of a message that contains stderr. */
const ERROR_STREAM = 2;

async function open(cli: Cli, service: Service, body: object): Promise<WebSocket> {
  const api = await cli.client();
  const path = `/services/${service.id}/shells`;
  const { shell: opened } = await api.write<{ shell: { address: string } }>('POST', path, body);
  return openSocket(api, opened.address);
}

/**
 * Resolves if the command's exit code is 0, and otherwise rejects with this exit code. Rejects with exit code 20 if the
 * connection ended before the command.
 */
function endOf(cli: Cli, socket: WebSocket): Promise<void> {
  let exit: number | null = null;
  cli.signal.addEventListener('abort', () => socket.terminate(), { once: true });
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary) exit = (JSON.parse(data.toString()) as { exit?: number }).exit ?? exit;
  });
  return new Promise((resolve, reject) => {
    socket.once('close', (code: number, reason: Buffer) => {
      if (exit === 0) resolve();
      else if (exit !== null) reject(new CliError(exit, code === 1000 ? '' : `The shell ended: ${reason.toString()}`));
      else
        reject(new CliError(EXIT.failed, `The connection ended: ${reason.toString() || 'the installation went away'}`));
    });
  });
}
