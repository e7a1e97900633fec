import type { Readable } from 'node:stream';
import { explainPull } from '../failures/pull-error.js';
import { type Engine, engineMessage, engineStatus } from './docker-engine.js';
import { readEvents } from './engine-events.js';
import { authconfig, type RegistryAccount } from './registry-accounts.js';

/** Resolves an image's name at its registry to the current digest: 64 hex digits. Throws `PullError`. */
export async function resolveDigest(
  { calls }: Engine,
  name: string,
  account: RegistryAccount | undefined,
): Promise<string> {
  try {
    const { Descriptor } = await calls.getImage(name).distribution({ authconfig: authconfig(account) });
    return String(Descriptor.digest).replace(/^sha256:/, '');
  } catch (error) {
    throw engineStatus(error) === undefined ? error : explainPull(name, engineMessage(error), account);
  }
}

export interface PullOptions {
  account: RegistryAccount | undefined;
  signal: AbortSignal;
  log: (line: string) => Promise<void>;
}

/** Pulls an image into the engine. Throws `PullError`, or the signal's reason if it is aborted. */
export async function pullImage(
  { streams }: Engine,
  name: string,
  { account, signal, log }: PullOptions,
): Promise<void> {
  try {
    const options = { fromImage: name, authconfig: authconfig(account), abortSignal: signal };
    const stream = (await streams.createImage(options)) as Readable;
    for await (const event of readEvents(stream)) {
      if (event.error !== undefined) throw explainPull(name, event.error, account);
      // Events about single layers have `progressDetail`. They would flood the log.
      if (event.status !== undefined && event.progressDetail === undefined) await log(event.status);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw engineStatus(error) === undefined ? error : explainPull(name, engineMessage(error), account);
  }
}
