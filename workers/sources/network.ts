/**
 * What git needs of the variables that builds may see: proxies in the spelling that it reads, certificates under its own
 * names.
 */
export function gitNetwork(environment: Readonly<Record<string, string>>): Record<string, string> {
  const network: Record<string, string> = {};
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy']) {
    const value = environment[name] ?? environment[name.toUpperCase()];
    if (value !== undefined) network[name] = value;
  }
  const file = environment.GIT_SSL_CAINFO ?? environment.SSL_CERT_FILE ?? environment.CURL_CA_BUNDLE;
  const folder = environment.GIT_SSL_CAPATH ?? environment.SSL_CERT_DIR;
  if (file !== undefined) network.GIT_SSL_CAINFO = file;
  else if (folder !== undefined) network.GIT_SSL_CAPATH = folder;
  return network;
}
