import { once } from 'node:events';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { onAbort } from '../../../shared/core/on-abort.js';

const CONNECT_MS = 5_000;
/** If a command's output is longer, only its end is kept. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const END_BYTES = 64 * 1024;

export interface AgentAddress {
  host: string;
  port: number;
  token: string;
}

/** A command failed, or the connection broke before its end. */
class AgentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AgentError';
  }
}

/** Runs a command in an agent (see `agentScript`). Throws `AgentError`, or the signal's reason. */
export async function callAgent(
  { host, port, token }: AgentAddress,
  command: string,
  { input, signal }: { input?: Readable; signal: AbortSignal },
): Promise<string> {
  if (command.includes('\n')) throw new Error('a command of an agent has one line');
  signal.throwIfAborted();
  const socket = connect({ host, port, allowHalfOpen: true });
  const forgetAbort = onAbort(signal, () => socket.destroy(new AgentError('was aborted')));
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new AgentError('the agent does not answer')));
  socket.once('connect', () => socket.setTimeout(0));
  const answer = (async () => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= MAX_OUTPUT_BYTES) continue;
      // The exit code may be split between chunks, so the end of the earlier chunks is kept too.
      chunks.push(Buffer.concat(chunks.splice(0)).subarray(-END_BYTES));
      bytes = END_BYTES;
    }
    return Buffer.concat(chunks).toString('utf8');
  })();
  // While the input is still being sent, nothing awaits `answer`, and its rejection must not crash the worker.
  answer.catch(() => undefined);
  try {
    // The input is read only after the connection is established: if the agent refuses the connection, the caller
    // retries with the same input.
    await once(socket, 'connect');
    socket.write(`${token}\n${command}\n`);
    if (input === undefined) socket.end();
    else await pipeline(input, socket).catch(() => undefined);
    const text = await answer;
    const [, output = '', code] = /^([\s\S]*)\nexit (\d+)\n$/.exec(text) ?? [];
    if (code === undefined) throw new AgentError(`the connection broke: ${text.slice(-200)}`);
    if (code !== '0') throw new AgentError(`exit code ${code}: ${output.trim().slice(-500)}`);
    return output;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    forgetAbort();
    socket.destroy();
  }
}
