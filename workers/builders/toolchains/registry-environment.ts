/** Variables of npm → the same setting of other package managers, which do not read npm's. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  npm_config_registry: ['YARN_NPM_REGISTRY_SERVER', 'pnpm_config_registry'],
  npm_config_cafile: ['YARN_HTTPS_CA_FILE_PATH', 'pnpm_config_cafile'],
  http_proxy: ['YARN_HTTP_PROXY'],
  https_proxy: ['YARN_HTTPS_PROXY'],
};

/** The operator's registry, certificates and proxies, under the names that other package managers than npm read. */
export function registryEnvironment(platform: Readonly<Record<string, string>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(platform)) {
    for (const other of OTHERS[name.toLowerCase()] ?? []) found[other] = value;
  }
  const certificates = platform.NODE_EXTRA_CA_CERTS;
  if (certificates !== undefined) found.YARN_HTTPS_CA_FILE_PATH ??= certificates;
  return found;
}
