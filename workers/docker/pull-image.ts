import type { Readable } from 'node:stream';
import { type Engine, engineMessage, engineStatus } from './engine.js';
import { readEvents } from './engine-events.js';
import { authconfig, type RegistryAccount } from './registry.js';

/** Why an image cannot be pulled from its registry, for the person who deployed. */
export class PullError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PullError';
  }
}

/** The digest that an image's name stands for at its registry now: 64 hex digits. Throws `PullError`. */
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

/** Pulls an image into the engine. Throws `PullError`; an abort ends it and rejects with the signal's reason. */
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
      // Only the progress of single layers has details, and it would flood the log.
      if (event.status !== undefined && event.progressDetail === undefined) await log(event.status);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw engineStatus(error) === undefined ? error : explainPull(name, engineMessage(error), account);
  }
}

function explainPull(name: string, message: string, account: RegistryAccount | undefined): PullError {
  if (
    /unauthorized|authentication required|no basic auth|access denied|denied:|forbidden|incorrect username/i.test(
      message,
    )
  ) {
    return new PullError(
      account === undefined
        ? `${name} does not exist or needs credentials: name a registry of the workspace in registryId (${message})`
        : `${name} is refused to "${account.username}" at ${account.serveraddress}: check the registry that registryId names (${message})`,
    );
  }
  if (/manifest unknown|not found|no such image|name unknown/i.test(message)) {
    return new PullError(`${name} does not exist (${message})`);
  }
  return new PullError(`${name} cannot be pulled from its registry: ${message}; deploy again later`);
}
