import { execFile, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The reason why this machine cannot make and run images; '' if it can. */
export const NO_IMAGES =
  process.getuid?.() !== 0
    ? 'not root'
    : spawnSync('/bin/sh', [
          '-c',
          'command -v runc && command -v conmon && command -v skopeo && command -v umoci && command -v busybox',
        ]).status === 0
      ? ''
      : 'runc, conmon, skopeo, umoci or busybox is not installed';

const PROGRAMS = 'sh ls cat id httpd sleep echo mkdir chown env test wc touch rm kill pwd'.split(' ');

export interface TestImage {
  files?: Record<string, string>;
  config?: string[];
  /** A shell command that makes another layer, `layer.tar`, in an empty folder. */
  layer?: string;
}

/** Makes an image with busybox as an OCI layout below `folder`, and copies it to a registry on this machine. */
export async function pushImage(
  folder: string,
  name: string,
  { files = {}, config = [], layer }: TestImage,
): Promise<void> {
  const work = await mkdtemp(join(folder, 'image-'));
  const rootfs = join(work, 'rootfs');
  await mkdir(join(rootfs, 'bin'), { recursive: true });
  await copyFile('/bin/busybox', join(rootfs, 'bin', 'busybox'));
  for (const program of PROGRAMS) await symlink('busybox', join(rootfs, 'bin', program));
  const users = {
    'etc/passwd': 'root:x:0:0::/root:/bin/sh\nweb:x:1000:1000::/www:/bin/sh\n',
    'etc/group': 'root:x:0:\nweb:x:1000:\n',
  };
  for (const [path, content] of Object.entries({ ...users, ...files })) {
    await mkdir(dirname(join(rootfs, path)), { recursive: true });
    await writeFile(join(rootfs, path), content);
  }
  const layout = join(work, 'layout');
  await run('umoci', ['init', '--layout', layout]);
  await run('umoci', ['new', '--image', `${layout}:image`]);
  await run('umoci', ['insert', '--image', `${layout}:image`, rootfs, '/']);
  if (layer !== undefined) {
    const folderOfLayer = await mkdtemp(join(work, 'layer-'));
    await run('/bin/sh', ['-ec', layer], { cwd: folderOfLayer });
    await run('umoci', ['raw', 'add-layer', '--image', `${layout}:image`, join(folderOfLayer, 'layer.tar')]);
  }
  if (config.length > 0) await run('umoci', ['config', '--image', `${layout}:image`, ...config]);
  await run('skopeo', [
    '--insecure-policy',
    'copy',
    '--dest-tls-verify=false',
    `oci:${layout}:image`,
    `docker://${name}`,
  ]);
}

/** Builds a Dockerfile in a folder that contains busybox, and pushes the image to a registry in Docker's format. */
export async function pushBuilt(folder: string, name: string, dockerfile: readonly string[]): Promise<void> {
  const context = await mkdtemp(join(folder, 'context-'));
  await copyFile('/bin/busybox', join(context, 'busybox'));
  await writeFile(join(context, 'Dockerfile'), dockerfile.join('\n'));
  const place = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
  const build = ['build', '--tls-verify=false', '--isolation', 'chroot', '--format', 'docker', '--tag', name, context];
  await run('buildah', [...place, ...build]);
  await run('buildah', [...place, 'push', '--tls-verify=false', name]);
}
