import { createHash } from 'node:crypto';
import { link, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../../shared/core/exists.js';

interface Descriptor {
  digest: string;
  size: number;
  mediaType: string;
}

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

/** Returns the digests of the blobs of a layout's image: its manifest, configuration and layers. */
export async function blobsOf(layout: string, read: (digest: string) => Promise<Buffer>): Promise<string[]> {
  const manifest = await digestOf(layout);
  const { config, layers } = JSON.parse(String(await read(manifest))) as { config: Descriptor; layers: Descriptor[] };
  return [...new Set([manifest, ...[config, ...layers].map(({ digest }) => hexOf(digest))])];
}

/** The parts of an image's configuration that determine how it is started. */
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
    /** Only Docker's format has `Shell`, `OnBuild` and `Healthcheck`. */
    Shell?: string[] | null;
    OnBuild?: string[] | null;
  };
  rootfs?: object;
}

/** HEALTHCHECK in Docker's format; the OCI format has none. Times are in nanoseconds; 0 means the default. */
export interface Healthcheck {
  /** `["CMD", program, argument…]`, `["CMD-SHELL", command line]` or `["NONE"]`. */
  Test?: string[] | null;
  Interval?: number;
  Timeout?: number;
  Retries?: number;
}

/** Returns the configuration of a layout's image. */
export async function configOf(layout: string): Promise<ImageConfig> {
  return readBlob(layout, hexOf((await manifestIn(layout)).config.digest));
}

async function manifestIn(layout: string): Promise<{ config: Descriptor; layers: Descriptor[] }> {
  return readBlob(layout, await digestOf(layout));
}

async function readBlob<T>(layout: string, digest: string): Promise<T> {
  return JSON.parse(await readFile(join(layout, 'blobs', 'sha256', digest), 'utf8')) as T;
}

/**
 * Writes a layout's image in Docker's format, which alone keeps HEALTHCHECK, SHELL and ONBUILD. Skopeo and buildah read
 * the folder as `dir:`. `text` is the image's own configuration. Returns false if the configuration has none of these
 * three fields, if it names other layers than the layout, or if a layer is not compressed with gzip.
 */
export async function writeDockerFormat(layout: string, folder: string, text: string): Promise<boolean> {
  const { config = {}, rootfs } = JSON.parse(text) as ImageConfig;
  const { layers } = await manifestIn(layout);
  const isAdded = config.Healthcheck || config.Shell?.length || config.OnBuild?.length;
  const isSame = JSON.stringify(rootfs) === JSON.stringify((await configOf(layout)).rootfs);
  if (!isAdded || !isSame || !layers.every(({ mediaType }) => mediaType.endsWith('.tar+gzip'))) return false;
  await mkdir(folder, { mode: 0o755 });
  const name = createHash('sha256').update(text).digest('hex');
  for (const digest of layers.map((layer) => hexOf(layer.digest))) {
    // Several layers of an image may have the same content.
    if (!(await exists(join(folder, digest))))
      await link(join(layout, 'blobs', 'sha256', digest), join(folder, digest));
  }
  const type = 'application/vnd.docker';
  const manifest = {
    schemaVersion: 2,
    mediaType: `${type}.distribution.manifest.v2+json`,
    config: {
      mediaType: `${type}.container.image.v1+json`,
      size: Buffer.byteLength(text),
      digest: `sha256:${name}`,
    },
    layers: layers.map((layer) => ({ ...layer, mediaType: `${type}.image.rootfs.diff.tar.gzip` })),
  };
  const files = {
    [name]: text,
    'manifest.json': JSON.stringify(manifest),
    version: 'Directory Transport Version: 1.1\n',
  };
  for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content, { mode: 0o644 });
  return true;
}

function hexOf(digest: string): string {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(digest) ?? [];
  if (hex === undefined) throw new Error(`"${digest}" is not a digest of SHA-256`);
  return hex;
}
