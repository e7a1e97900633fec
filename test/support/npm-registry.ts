import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

const run = promisify(execFile);

/** True if this machine's npm reaches a registry with public packages. */
export const hasRegistry =
  spawnSync('npm', ['view', 'ms@2.1.3', 'version'], { timeout: 30_000 }).stdout?.toString().trim() === '2.1.3';

/** Variables of the test run for proxies, registries and certificates, which builds need too. */
export const BUILD_ENVIRONMENT = Object.fromEntries(
  ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'npm_config_registry'].flatMap(
    (name) => (process.env[name] ? [[name, process.env[name]]] : []),
  ),
);

export interface TestNpmRegistry {
  url: string;
  /** A file with the registry's certificate authority, without which no client trusts it. */
  certificates: string;
  downloads(): number;
  stop(): Promise<void>;
}

/** Starts an npm registry with one package, `greet` 1.0.0, over TLS with a private certificate authority. */
export async function startNpmRegistry(folder: string, host: string): Promise<TestNpmRegistry> {
  const [key, certificates] = [join(folder, 'registry-key.pem'), join(folder, 'registry-ca.pem')];
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-keyout', key, '-out', certificates, '-subj', '/CN=registry', '-addext', `subjectAltName=IP:${host}`],
  ]);
  const archive = await packageArchive();
  const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  let downloads = 0;
  const server = createServer({ key: await readFile(key), cert: await readFile(certificates) }, (request, response) => {
    if (request.url?.endsWith('.tgz')) {
      downloads += 1;
      response.end(archive);
      return;
    }
    const version = {
      name: 'greet',
      version: '1.0.0',
      dist: { tarball: `${url}greet/-/greet-1.0.0.tgz`, integrity },
    };
    response.setHeader('Content-Type', 'application/json');
    if (request.url !== '/greet') response.statusCode = 404;
    response.end(JSON.stringify({ name: 'greet', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const url = `https://${host}:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    certificates,
    downloads: () => downloads,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function packageArchive(): Promise<Buffer> {
  const archive = pack();
  const files = {
    'package/package.json': JSON.stringify({ name: 'greet', version: '1.0.0' }),
    'package/index.js': "module.exports = () => 'hello from greet';\n",
  };
  for (const [name, content] of Object.entries(files)) {
    await new Promise<void>((resolve, reject) => {
      archive.entry({ name }, content, (error) => (error ? reject(error) : resolve()));
    });
  }
  archive.finalize();
  return gzipSync(await buffer(archive));
}
