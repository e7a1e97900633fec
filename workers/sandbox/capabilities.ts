/**
 * The purpose of a container: a command on the host's system, such a command without root, the processes of an image,
 * or the programs that unpack and build images.
 */
export type ContainerKind = 'command' | 'rootless' | 'image' | 'imageTools';

/** Docker's default list. */
const OF_IMAGES = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'NET_RAW'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
].map((name) => `CAP_${name}`);

/** The capabilities of a container's processes. Those of images apply in their user namespace only. */
export const CAPABILITIES: Readonly<Record<ContainerKind, readonly string[]>> = {
  command: [],
  // The kernel requires it to map user 0 to another number. It is dropped before the command starts.
  rootless: ['CAP_SETFCAP'],
  image: OF_IMAGES,
  imageTools: [...OF_IMAGES, 'CAP_SYS_ADMIN'],
};

/** The capabilities of a process as the OCI runtime specification writes them. */
export interface Capabilities {
  bounding: readonly string[];
  effective: readonly string[];
  inheritable: readonly string[];
  permitted: readonly string[];
  ambient: readonly string[];
}

/** Returns the capabilities of the processes of a container. */
export function capabilitiesOf(kind: ContainerKind): Capabilities {
  const names = CAPABILITIES[kind];
  return { bounding: names, effective: names, inheritable: [], permitted: names, ambient: [] };
}
