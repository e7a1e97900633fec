import { execFile, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const NO_OPENSSL = spawnSync('openssl', ['version']).status === 0 ? '' : 'openssl is not installed';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const DAYS = ['-days', '2'];

/** Creates certificates of an authority, a server and a client, with the file names that Docker expects. */
export async function makeCertificates(folder: string, address: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const at = (name: string) => join(folder, name);
  const authority = [...KEY, ...DAYS, '-subj', '/CN=test authority', '-keyout', at('ca-key.pem'), '-out', at('ca.pem')];
  await run('openssl', ['req', '-x509', ...authority]);
  const issue = async (prefix: string, extension: string) => {
    const [key, request, cert] = [at(`${prefix}key.pem`), at(`${prefix}request.pem`), at(`${prefix}cert.pem`)];
    const extensions = at(`${prefix}extensions`);
    await writeFile(extensions, extension);
    await run('openssl', ['req', ...KEY, '-subj', '/CN=test', '-keyout', key, '-out', request]);
    const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca-key.pem'), '-CAcreateserial', '-extfile', extensions];
    await run('openssl', ['x509', '-req', '-in', request, ...signed, ...DAYS, '-out', cert]);
  };
  await issue('server-', `subjectAltName=IP:${address}`);
  await issue('', 'extendedKeyUsage=clientAuth');
}
