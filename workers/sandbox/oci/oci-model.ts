import type { ContainerKind } from './capabilities.js';
import type { Seccomp } from './seccomp.js';

/**
 * The root of a container with users of its own is mounted here before it starts. The mount is in a mount namespace of its own. The path is
 * one that those users may enter.
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
  /** The parent of the containers' control groups, as `cgroupsPath` names it. */
  cgroupsPath: string;
  /** True if the kernel can limit swap. */
  limitsSwap: boolean;
  /** The file with the host's name servers; null if there is none. */
  resolver: string | null;
  /** True if the host has a file of names of its own, which a network can replace. */
  hasHosts: boolean;
}
