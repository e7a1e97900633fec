import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runLimited } from '../../shared/core/run-limited.js';
import { type ContainedHost, isBelow, type Mount, type Plan } from './sandbox-plan.js';

/** The folder below that of a volume in which a command's file system is mounted, or that has the content itself. */
export const CONTENT = 'data';
/** The file system of a volume whose size the kernel enforces. */
export const IMAGE = 'image';

/**
 * Runs on the host, in a mount namespace of its own if there are images: locks and mounts volumes and becomes the program that starts the
 * container. Mounts, loop devices and locks end with the last process that has them, so that none is left whatever dies.
 * Arguments: the number of volumes; the user who owns their content; for each volume its folder, `exclusive` or `shared`, and
 * `grow` or `keep`; the program's argument vector.
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
  [ "$(id -u)" -ne 0 ] || [ "$(stat -c %u "$folder/${CONTENT}")" = "$uid" ] || chown -hR "$uid:$uid" "$folder/${CONTENT}"
  shift 3
  count=$((count - 1))
done
exec "$@"
`;

/** Arguments before the program that starts a container, so that it has the volumes. Empty without volumes. */
export function volumeArguments({ level, oci }: ContainedHost, { volumes, uid }: Plan): string[] {
  if (volumes.length === 0) return [];
  // In the user namespace of a rootless container its user has this number, and the content is the platform's user's own.
  const owner = level === 'rootless' ? 0 : uid;
  const each = volumes.flatMap(({ folder, exclusive, grows }) => [
    folder,
    exclusive ? 'exclusive' : 'shared',
    grows ? 'grow' : 'keep',
  ]);
  return ['/bin/sh', oci.mountVolumes, String(volumes.length), String(owner), ...each];
}

/** Returns the mounts that show the volumes in a container. */
export function volumeMounts({ volumes }: Pick<Plan, 'volumes'>): Mount[] {
  const options = ['rbind', 'rw', 'nosuid', 'nodev', 'rprivate'];
  return volumes.map(({ folder, path }) => {
    return { destination: path, type: 'bind', source: join(folder, CONTENT), options };
  });
}

/** Returns the root of a container on the host's system that has volumes. The runtime makes their folders in it. */
export function ownRoot(scratch: string): string {
  return join(scratch, 'root');
}

/** The layer with the folders for volumes in a folder of the host's system. */
function layerOf(scratch: string, folder: string): string {
  return join(scratch, 'points', basename(folder));
}

/** Replaces the mount of a folder of the host's system. The new one also has the folders that volumes are mounted on. */
export function withVolumePoints(mount: Mount, { volumes, scratch }: Pick<Plan, 'volumes' | 'scratch'>): Mount {
  const { destination } = mount;
  if (!volumes.some(({ path }) => isBelow(path, destination))) return mount;
  const options = ['ro', 'nosuid', 'nodev', `lowerdir=${layerOf(scratch, destination)}:${destination}`];
  return { destination, type: 'overlay', source: 'overlay', options };
}

/** Makes the root and the layers of a container on the host's system that has volumes. */
export async function makeVolumePoints({ oci }: ContainedHost, { volumes, scratch }: Plan): Promise<void> {
  if (volumes.length === 0) return;
  await mkdir(ownRoot(scratch), { recursive: true, mode: 0o755 });
  await runLimited('cp', ['-a', '--', `${oci.rootfs}/.`, ownRoot(scratch)]);
  for (const folder of oci.system) {
    const layer = layerOf(scratch, folder);
    for (const { path } of volumes.filter((volume) => isBelow(volume.path, folder))) {
      await mkdir(join(layer, path.slice(folder.length)), { recursive: true, mode: 0o755 });
    }
  }
}
