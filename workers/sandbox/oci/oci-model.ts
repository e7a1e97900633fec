import type { ContainerKind } from './capabilities.js';
import type { Seccomp } from './seccomp.js';

/**
 * Where the root of a container with users of its own is mounted before it starts, in a mount namespace of its own. Those users must reach
 * it from the host's root.
 */
export const MAPPED_ROOT = '/media';
/** The path of the init in a container. */
export const INIT_PATH = '/.init';

/** What this host has to run OCI containers with. It is found once at start. */
export interface OciHost {
  /** Paths of the OCI runtime and of conmon, which outlives the worker and records the exit code. */
  runtime: string;
  conmon: string;
  /** The root of containers: an empty folder with places for the mounts. */
  rootfs: string;
  /** The program that records how a detached container ended. */
  record: string;
  /** The program that mounts the root of a container with users of its own and then starts it. */
  enter: string;
  /** Real folders of the host's system that containers see. */
  system: readonly string[];
  /** True if the programs that copy, unpack and build images are installed. */
  hasImageTools: boolean;
  seccomp: Record<ContainerKind, Seccomp> | null;
  overlayOptions: readonly string[];
  /** True if the kernel can limit swap. */
  limitsSwap: boolean;
  /** The file with the host's name servers; null if there is none. */
  resolver: string | null;
  /** True if the host has a file of names of its own, which a network can replace. */
  hasHosts: boolean;
}
