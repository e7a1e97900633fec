import { hostOf, isPrivateAddress } from '../services/service-source.js';

/** The default registry, for image names without a host. */
export const DOCKER_HUB = 'docker.io';

export interface ImageReference {
  /** The registry's host, with the port if there is one: `docker.io`, `registry.example.com:5000`. */
  registry: string;
  /** The image's name within the registry: `library/nginx`. */
  path: string;
  /** `registry/path`, the form that container engines accept. */
  name: string;
  tag: string;
  /** `sha256:…` if the reference is pinned to an exact image, in which case the tag is ignored. */
  digest: string | null;
}

const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const PATH = new RegExp(`^${COMPONENT}(?:/${COMPONENT})*$`);
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Parses an image reference as Docker does; null if it is invalid. */
export function parseImage(text: string): ImageReference | null {
  const [rest = '', digest = null, ...more] = text.split('@');
  const slash = rest.indexOf('/');
  const first = slash < 0 ? '' : rest.slice(0, slash);
  const hasHost = /[.:]/.test(first) || first === 'localhost';
  const [, named = '', tag = 'latest'] = /^(.*?)(?::([^:/]*))?$/s.exec(hasHost ? rest.slice(slash + 1) : rest) ?? [];
  const registry = hasHost ? canonicalRegistry(first) : DOCKER_HUB;
  const path = registry === DOCKER_HUB && !named.includes('/') ? `library/${named}` : named;
  const wrong =
    more.length > 0 ||
    text.length > 512 ||
    !HOST.test(registry) ||
    !PATH.test(path) ||
    !TAG.test(tag) ||
    (digest !== null && !DIGEST.test(digest));
  return wrong ? null : { registry, path, name: `${registry}/${path}`, tag, digest };
}

/** Returns a registry's host as it appears in image names. All names of Docker Hub become `docker.io`. */
export function canonicalRegistry(server: string): string {
  const host = server
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/.*$/, '')
    .toLowerCase();
  return ['index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com'].includes(host) ? DOCKER_HUB : host;
}

/** Returns true if the text is a valid registry host. */
export function isRegistry(server: string): boolean {
  return HOST.test(canonicalRegistry(server));
}

export interface ImagePolicy {
  allowLocal: boolean;
  /** Prefix of the names of all images in the platform's own registry; null if the platform has no registry. */
  ownPrefix: string | null;
}

/**
 * Returns why a service cannot use an image; null if it can. `trusted` is true if the workspace has credentials for the
 * registry.
 */
export function imageProblem(image: string, { allowLocal, ownPrefix }: ImagePolicy, trusted: boolean): string | null {
  if (image.trim() === '') return 'configuration.image is empty';
  const reference = parseImage(image);
  if (reference === null) return 'the image is not a name such as nginx:1.27 or registry.example.com/team/app@sha256:…';
  if (ownPrefix !== null && `${reference.name}/`.startsWith(`${ownPrefix}/`)) {
    return 'the image is one that this installation has built; deploy or roll back the service that it belongs to';
  }
  if (!allowLocal && !trusted && isPrivateAddress(hostOf(new URL(`https://${reference.registry}`)))) {
    return 'the registry is at a private address, which is not allowed on this installation (ALLOW_LOCAL_REPOSITORIES)';
  }
  return null;
}
