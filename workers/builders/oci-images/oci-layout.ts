import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Descriptor {
  digest: string;
  size: number;
}

/** Returns the descriptor of the only image of an OCI layout. */
async function imageOf(layout: string): Promise<Descriptor> {
  const { manifests } = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const [image, ...others] = manifests;
  if (image === undefined || others.length > 0) throw new Error(`${layout} does not hold one image`);
  return image;
}

/** Returns the digest of the image of an OCI layout: 64 hex digits. */
export async function digestOf(layout: string): Promise<string> {
  return hexOf((await imageOf(layout)).digest);
}

/**
 * Returns the names of the blobs that a layout's image needs.
 * These are its manifest, its configuration and its layers.
 */
export async function blobsOf(layout: string, read: (digest: string) => Promise<Buffer>): Promise<string[]> {
  const manifest = await digestOf(layout);
  const { config, layers } = JSON.parse(String(await read(manifest))) as { config: Descriptor; layers: Descriptor[] };
  return [...new Set([manifest, ...[config, ...layers].map(({ digest }) => hexOf(digest))])];
}

/** The parts of an image's configuration that decide how it is started. */
export interface ImageConfig {
  os?: string;
  architecture?: string;
  config?: {
    Entrypoint?: string[] | null;
    Cmd?: string[] | null;
    StopSignal?: string;
    ExposedPorts?: Record<string, unknown> | null;
    Volumes?: Record<string, unknown> | null;
    Healthcheck?: Healthcheck | null;
  };
}

/** HEALTHCHECK in Docker's format; the OCI format has none. Times are in nanoseconds; 0 stands for the default. */
export interface Healthcheck {
  /** `["CMD", program, argument…]`, `["CMD-SHELL", command line]` or `["NONE"]`. */
  Test?: string[] | null;
  Interval?: number;
  Timeout?: number;
  Retries?: number;
}

/** Returns the configuration of the image of a layout. */
export async function configOf(layout: string): Promise<ImageConfig> {
  const read = async (digest: string) => JSON.parse(await readFile(join(layout, 'blobs', 'sha256', digest), 'utf8'));
  const { config } = (await read(await digestOf(layout))) as { config: Descriptor };
  return read(hexOf(config.digest));
}

function hexOf(digest: string): string {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(digest) ?? [];
  if (hex === undefined) throw new Error(`"${digest}" is not a digest of SHA-256`);
  return hex;
}
