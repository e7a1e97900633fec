/**
 * `command`: runs on the host's own file system. `rootless`: like `command`, on a platform without root privileges.
 * `image`: the process of an image. `imageTools`: the tools that unpack and build images.
 */
export type ContainerKind = 'command' | 'rootless' | 'image' | 'imageTools';

/** The default capabilities of a Docker container. */
const OF_IMAGES = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'NET_RAW'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
].map((name) => `CAP_${name}`);

/** The capabilities of image processes are valid in their user namespace only. */
export const CAPABILITIES: Readonly<Record<ContainerKind, readonly string[]>> = {
  command: [],
  // The kernel requires this capability to map user 0 to another user. It is dropped before the command starts.
  rootless: ['CAP_SETFCAP'],
  image: OF_IMAGES,
  imageTools: [...OF_IMAGES, 'CAP_SYS_ADMIN'],
};

/** Returns the capability sets of this kind of container in the format of the OCI specification. */
export function capabilitiesOf(kind: ContainerKind) {
  const names = CAPABILITIES[kind];
  return { bounding: names, effective: names, inheritable: [], permitted: names, ambient: [] };
}
