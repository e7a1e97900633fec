import type { ImageHealthCheck, ImageManifest } from '../../../shared/images/model.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { Healthcheck, ImageConfig } from './oci-layout.js';

/** The configuration that umoci writes. umoci reads the user's numeric ids from the image's files. */
export interface UnpackedConfig {
  process: {
    user: { uid: number; gid: number; additionalGids?: number[] };
    env?: string[];
    cwd?: string;
  };
}

interface ManifestOptions {
  runtime: string;
  startCommand: string;
  startArguments: readonly string[];
}

/** Node.js's name of an architecture → the name in images. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Docker's defaults for a health check: interval and timeout in milliseconds, and the number of tolerated failures. */
const CHECK_MS = 30_000;
const CHECK_RETRIES = 3;

/**
 * Returns how an unpacked image is started. Throws `BuildError` if the image is for another architecture or names no
 * command.
 */
export function manifestOf(
  image: ImageConfig,
  { process: unpacked }: UnpackedConfig,
  { runtime, startCommand, startArguments }: ManifestOptions,
): ImageManifest {
  const host = ARCHITECTURES[process.arch] ?? process.arch;
  const { os = 'linux', architecture = host, config = {} } = image;
  if (os !== 'linux' || architecture !== host) {
    throw new BuildError(`the image is for ${os}/${architecture}, and this host is linux/${host}; name another image`);
  }
  const args = [...(config.Entrypoint ?? []), ...(startArguments.length > 0 ? startArguments : (config.Cmd ?? []))];
  if (args.length === 0 && startCommand === '') {
    throw new BuildError('the image has neither ENTRYPOINT nor CMD; set startCommand');
  }
  const { uid, gid, additionalGids = [] } = unpacked.user;
  const { StopSignal: stopSignal = 'SIGTERM' } = config;
  const healthCheck = healthCheckOf(config.Healthcheck ?? {});
  return {
    type: 'process',
    runtime,
    startCommand,
    workingDirectory: unpacked.cwd ?? '/',
    publishDirectory: '',
    environment: Object.fromEntries((unpacked.env ?? []).map(variable).filter(([name]) => name !== 'TERM')),
    process: {
      args,
      user: { uid, gid, groups: additionalGids },
      ports: Object.keys(config.ExposedPorts ?? {}).flatMap(tcpPort),
      ...(['', 'SIGTERM'].includes(stopSignal) ? {} : { stopSignal }),
      ...(healthCheck === null ? {} : { healthCheck }),
    },
  };
}

/** Returns an image's health check, with Docker's defaults for missing values; null if there is none. */
function healthCheckOf({ Test, Interval, Timeout, Retries }: Healthcheck): ImageHealthCheck | null {
  const [how, ...words] = Test ?? [];
  const args = how === 'CMD-SHELL' ? ['/bin/sh', '-c', words.join(' ')] : words;
  if (words.length === 0 || (how !== 'CMD' && how !== 'CMD-SHELL')) return null;
  const time = (nanoseconds = 0) => (nanoseconds > 0 ? Math.max(1000, Math.round(nanoseconds / 1e6)) : CHECK_MS);
  return { args, intervalMs: time(Interval), timeoutMs: time(Timeout), retries: Math.max(1, Retries || CHECK_RETRIES) };
}

function tcpPort(text: string): number[] {
  const [, port] = /^(\d{1,5})(?:\/tcp)?$/.exec(text) ?? [];
  return port === undefined ? [] : [Number(port)];
}

function variable(text: string): [string, string] {
  const equals = text.indexOf('=');
  return equals < 0 ? [text, ''] : [text.slice(0, equals), text.slice(equals + 1)];
}
