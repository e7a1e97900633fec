import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { unlessAbsent } from '../../shared/core/exists.js';
import { runLimited } from '../../shared/core/run-limited.js';
import { type ContainedHost, isBelow, type Mount, type Plan } from './sandbox-plan.js';

/** This subfolder of a volume contains plain files, or the volume's file system is mounted on it. */
export const CONTENT = 'data';
/** This file contains the file system of a volume whose size the kernel enforces. */
export const IMAGE = 'image';

/**
 * Runs on the host, in its own mount namespace if there are images: locks and mounts volumes, then executes the program
 * that starts the container. Mounts, loop devices and locks are released with the last process that has them.
 * Arguments: the number of volumes; the user that owns their content; for each volume its folder, `exclusive`, `shared`
 * or `observed` (which does not change the owner), and `grow` or `keep`; the program's argument vector.
 */
export const MOUNT_VOLUMES = `#!/bin/sh
fail() {
  printf '{"data":-1,"message":"%s"}\\n' "$1" >&3
  printf '%s\\n' "$1" >&2
  exit 1
}
# Mounts that end release their loop device a moment later.
mount_image() {
  for pause in 0.1 0.2 0.5 1 2; do
    mount -n -o loop,nosuid,nodev "$1/${IMAGE}" "$1/${CONTENT}" 2>/dev/null && return
    sleep "$pause"
  done
  mount -n -o loop,nosuid,nodev "$1/${IMAGE}" "$1/${CONTENT}"
}
count=$1 uid=$2 fd=4
shift 2
while [ "$count" -gt 0 ]; do
  folder=$1
  if [ "$2" = exclusive ]; then
    eval "exec $fd>\\"\\$folder/writer\\"" && flock -w 20 "$fd" || fail 'another replica still uses a volume of the service'
    fd=$((fd + 1))
  fi
  if [ -f "$folder/${IMAGE}" ]; then
    exec 9>"$folder/mounting" && flock 9 || fail 'a volume cannot be locked'
    if [ -z "$(losetup -j "$folder/${IMAGE}")" ]; then
      e2fsck -p "$folder/${IMAGE}" >/dev/null 2>&1
      [ $? -lt 4 ] || fail 'the file system of a volume is damaged: run e2fsck on its image'
      if [ "$3" = grow ]; then
        e2fsck -fp "$folder/${IMAGE}" >/dev/null 2>&1
        resize2fs "$folder/${IMAGE}" >/dev/null 2>&1
      fi
    fi
    mount_image "$folder" || fail 'the image of a volume cannot be mounted'
    rmdir "$folder/${CONTENT}/lost+found" 2>/dev/null
    exec 9>&-
  fi
  [ "$2" = observed ] || [ "$(id -u)" -ne 0 ] || [ "$(stat -c %u "$folder/${CONTENT}")" = "$uid" ] || chown -hR "$uid:$uid" "$folder/${CONTENT}"
  shift 3
  count=$((count - 1))
done
exec "$@"
`;

/** Returns arguments to put before the program that starts a container. They mount the container's volumes. */
export function volumeArguments({ level, oci }: ContainedHost, { volumes, uid }: Plan): string[] {
  if (volumes.length === 0) return [];
  // In a rootless container's user namespace, the platform's user, who owns the content, has the ID 0.
  const owner = level === 'rootless' ? 0 : uid;
  const each = volumes.flatMap(({ folder, exclusive, grows }) => [
    folder,
    exclusive ? 'exclusive' : 'shared',
    grows ? 'grow' : 'keep',
  ]);
  return ['/bin/sh', oci.mountVolumes, String(volumes.length), String(owner), ...each];
}

export function volumeMounts({ volumes }: Pick<Plan, 'volumes'>): Mount[] {
  const options = ['rbind', 'rw', 'nosuid', 'nodev', 'rprivate'];
  return volumes.map(({ folder, path }) => {
    return { destination: path, type: 'bind', source: join(folder, CONTENT), options };
  });
}

/**
 * Returns the path of a container's own copy of the root folder. The runtime creates mount points for volumes in it.
 */
export function ownRoot(scratch: string): string {
  return join(scratch, 'root');
}

function layerOf(scratch: string, folder: string): string {
  return join(scratch, 'points', basename(folder));
}

/**
 * Mounts a tmpfs with a copy of a folder over the folder, then executes a program. Arguments: the folder; the argument
 * vector of the program.
 */
const TO_MEMORY =
  'mount -n -t tmpfs -o mode=0755 tmpfs "$0.new" && cp -a -- "$0/." "$0.new" && mount -n --move "$0.new" "$0" && exec "$@"';

/**
 * Returns arguments to put before the program that starts a container. They copy the layers of overlays to memory if
 * necessary. The kernel refuses an overlay over a folder, such as `/var`, if DATA_DIR, which contains the layers, is
 * inside that folder.
 */
export function pointArguments({ oci }: ContainedHost, { volumes, scratch }: Plan): string[] {
  const covers = (folder: string) => isBelow(scratch, folder) && volumes.some(({ path }) => isBelow(path, folder));
  return oci.system.some(covers) ? ['/bin/sh', '-c', TO_MEMORY, join(scratch, 'points')] : [];
}

/** Replaces the mount of a host's folder by an overlay with mount points if volumes are mounted in it. */
export function withVolumePoints(mount: Mount, { volumes, scratch }: Pick<Plan, 'volumes' | 'scratch'>): Mount {
  const { destination } = mount;
  if (!volumes.some(({ path }) => isBelow(path, destination))) return mount;
  const options = ['ro', 'nosuid', 'nodev', `lowerdir=${layerOf(scratch, destination)}:${destination}`];
  return { destination, type: 'overlay', source: 'overlay', options };
}

/** Creates the root and the overlay layers of a container with volumes that uses the host's root. */
export async function makeVolumePoints({ level, oci }: ContainedHost, { volumes, scratch }: Plan): Promise<void> {
  if (volumes.length === 0) return;
  await mkdir(ownRoot(scratch), { recursive: true, mode: 0o755 });
  await mkdir(join(scratch, 'points.new'), { recursive: true });
  await runLimited('cp', ['-a', '--', `${oci.rootfs}/.`, ownRoot(scratch)]);
  for (const folder of oci.system) {
    for (const { path } of volumes.filter((volume) => isBelow(volume.path, folder))) {
      const names = relative(folder, path).split('/');
      for (let depth = 0; depth <= names.length; depth += 1) {
        const way = names.slice(0, depth);
        await makePoint(join(layerOf(scratch, folder), ...way), join(folder, ...way), level === 'root');
      }
    }
  }
}

async function makePoint(point: string, covered: string, asRoot: boolean): Promise<void> {
  await mkdir(point, { recursive: true, mode: 0o755 });
  const found = asRoot ? await unlessAbsent(lstat(covered)) : null;
  if (found === null) return;
  await chown(point, found.uid, found.gid);
  await chmod(point, found.mode);
}
