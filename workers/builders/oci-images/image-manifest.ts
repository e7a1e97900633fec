import type { ImageManifest } from '../../../shared/images/model.js';
import { BuildError } from '../../failures/explained.js';
import type { ImageConfig } from './oci-layout.js';

/** What umoci writes beside an unpacked image: the user is looked up in the image's own files. */
export interface UnpackedConfig {
  process: {
    user: { uid: number; gid: number; additionalGids?: number[] };
    env?: string[];
    cwd?: string;
  };
}

/** Architectures as images name them, by the name that Node.js gives the machine. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * How an unpacked image is started. `startCommand` replaces what the image starts. Throws `BuildError` if the image is for another
 * machine, or if nothing names a command.
 */
export function manifestOf(
  image: ImageConfig,
  { process: unpacked }: UnpackedConfig,
  { runtime, startCommand }: { runtime: string; startCommand: string },
): ImageManifest {
  const host = ARCHITECTURES[process.arch] ?? process.arch;
  const { os = 'linux', architecture = host, config = {} } = image;
  if (os !== 'linux' || architecture !== host) {
    throw new BuildError(`the image is for ${os}/${architecture}, and this host is linux/${host}; name another image`);
  }
  const args = [...(config.Entrypoint ?? []), ...(config.Cmd ?? [])];
  if (args.length === 0 && startCommand === '') {
    throw new BuildError('the image has neither ENTRYPOINT nor CMD; set startCommand');
  }
  const { uid, gid, additionalGids = [] } = unpacked.user;
  const { StopSignal: stopSignal = 'SIGTERM' } = config;
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
    },
  };
}

/** The number of `80/tcp` or `80`; nothing for other protocols. */
function tcpPort(text: string): number[] {
  const [, port] = /^(\d{1,5})(?:\/tcp)?$/.exec(text) ?? [];
  return port === undefined ? [] : [Number(port)];
}

function variable(text: string): [string, string] {
  const equals = text.indexOf('=');
  return equals < 0 ? [text, ''] : [text.slice(0, equals), text.slice(equals + 1)];
}
