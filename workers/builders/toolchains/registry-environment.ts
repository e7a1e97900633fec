import semver from 'semver';
import { parseInstalledName } from './tool-packages.js';

/** Environment variable that npm reads → names of the same setting in yarn and pnpm, which ignore npm's name. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  npm_config_registry: ['YARN_NPM_REGISTRY_SERVER', 'pnpm_config_registry'],
  npm_config_cafile: ['YARN_HTTPS_CA_FILE_PATH', 'pnpm_config_cafile'],
  http_proxy: ['YARN_HTTP_PROXY'],
  https_proxy: ['YARN_HTTPS_PROXY'],
};

/** Returns the operator's registry, certificates and proxies in variables that pnpm and yarn read. */
export function registryEnvironment(
  platform: Readonly<Record<string, string>>,
  tools: readonly string[] = [],
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(platform)) {
    for (const other of OTHERS[name.toLowerCase()] ?? []) found[other] = value;
  }
  const certificates = platform.NODE_EXTRA_CA_CERTS;
  if (certificates === undefined) return found;
  found.YARN_HTTPS_CA_FILE_PATH ??= certificates;
  const node = tools.map(parseInstalledName).find((tool) => tool?.name === 'node');
  // Node.js before 7.3 does not support NODE_EXTRA_CA_CERTS, but npm has a setting for the same purpose.
  if (node != null && semver.lt(node.version, '7.3.0')) found.npm_config_cafile ??= certificates;
  return found;
}
