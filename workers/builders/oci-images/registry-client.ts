import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../shared/core/config.js';
import { unlessAbsent } from '../../../shared/core/exists.js';
import { CommandFailed, runLimited } from '../../../shared/core/run-limited.js';
import { parseImage } from '../../../shared/images/image-reference.js';
import { SYSTEM_PATH } from '../../core/command-wrappers.js';
import { removeTree } from '../../core/remove-folders.js';
import type { RegistryAccount } from '../../docker/registry-accounts.js';
import { explainPull, PullError } from '../../failures/pull-error.js';
import { blobsOf } from './oci-layout.js';

/** Time limit for a copy, in milliseconds. The deployment's own time limit usually stops a copy sooner. */
const COPY_MS = 60 * 60_000;
const COPY_LIMITS = { memoryBytes: 2 * 1024 ** 3, processorSeconds: 3600 };
/** How long layers may be unused before they are removed, in milliseconds. */
const UNUSED_MS = 30 * 24 * 60 * 60_000;
const BLOBS = 'sha256';
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/;

/** Looks up and copies images with skopeo. A layer that several images share is copied once. */
export class RegistryClient {
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;

  /** Variables of BUILD_ENV, such as a proxy, apply to registries too. */
  constructor({ dataDir, buildEnvironment }: Pick<Config, 'dataDir' | 'buildEnvironment'>) {
    this.#folder = join(dataDir, 'layers');
    this.#environment = buildEnvironment;
  }

  /** Returns the digest, 64 hex digits, to which an image name currently resolves. Throws `PullError`. */
  async resolve(name: string, account: RegistryAccount | undefined, signal?: AbortSignal): Promise<string> {
    const manifest = await this.#inspect(name, account, signal);
    return createHash('sha256').update(manifest).digest('hex');
  }

  /** Returns an image's own configuration: the OCI copy lacks HEALTHCHECK, SHELL and ONBUILD. Throws `PullError`. */
  config(name: string, account: RegistryAccount | undefined, signal: AbortSignal): Promise<string> {
    return this.#inspect(name, account, signal, '--config');
  }

  #inspect(
    name: string,
    account: RegistryAccount | undefined,
    signal: AbortSignal | undefined,
    ...options: string[]
  ): Promise<string> {
    const place = `docker://${name}`;
    return this.#skopeo(name, account, signal, (flags) => ['inspect', '--raw', ...options, ...flags(''), place]);
  }

  /** Copies an image into a new OCI layout, under the name `image`. Throws `PullError`. */
  async copy(name: string, layout: string, account: RegistryAccount | undefined, signal: AbortSignal): Promise<void> {
    await this.#skopeo(name, account, signal, (flags) => {
      const to = ['--quiet', '--dest-shared-blob-dir', this.#folder];
      return ['copy', ...to, ...flags('src-'), `docker://${name}`, `oci:${layout}:image`];
    });
    const now = new Date();
    const blobs = join(layout, 'blobs', BLOBS);
    await mkdir(blobs, { recursive: true });
    for (const blob of await blobsOf(layout, (digest) => readFile(join(this.#folder, BLOBS, digest)))) {
      const path = join(this.#folder, BLOBS, blob);
      await utimes(path, now, now);
      await link(path, join(blobs, blob));
    }
  }

  /** Removes layers that were unused for 30 days, and files that interrupted copies left behind. */
  async sweep(): Promise<void> {
    await removeOld(join(this.#folder, BLOBS), UNUSED_MS);
    await removeOld(this.#folder, 2 * COPY_MS, BLOBS);
  }

  async #skopeo(
    name: string,
    account: RegistryAccount | undefined,
    signal: AbortSignal | undefined,
    command: (flags: (prefix: string) => string[]) => string[],
  ): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const login = join(this.#folder, `login-${randomUUID()}`);
    if (account !== undefined) await writeFile(login, loginFile(account), { mode: 0o600 });
    // As in Docker, a registry on this machine needs no certificate.
    const isLocal = LOOPBACK.test(parseImage(name)?.registry ?? '');
    const flags = (prefix: string) => [
      ...(isLocal ? [`--${prefix}tls-verify=false`] : []),
      ...(account === undefined ? [] : [`--${prefix}authfile`, login]),
    ];
    try {
      const { stdout } = await runLimited('skopeo', ['--insecure-policy', ...command(flags)], {
        env: { ...this.#environment, PATH: SYSTEM_PATH, HOME: this.#folder, TMPDIR: this.#folder },
        timeout: COPY_MS,
        limits: COPY_LIMITS,
        ...(signal === undefined ? {} : { signal }),
      });
      return stdout;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof CommandFailed)) throw error;
      if (error.code === 'ENOENT') throw new PullError('skopeo is not installed on this host (apt-get install skopeo)');
      throw explainPull(name, reasonOf(error.stderr), account);
    } finally {
      await rm(login, { force: true });
    }
  }
}

async function removeOld(folder: string, ageMs: number, kept?: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await unlessAbsent(stat(path));
    if (name !== kept && found !== null && Date.now() - found.mtimeMs > ageMs) await removeTree(path);
  }
}

function loginFile({ serveraddress, username, password }: RegistryAccount): string {
  return JSON.stringify({
    auths: { [serveraddress]: { auth: Buffer.from(`${username}:${password}`).toString('base64') } },
  });
}

/** Returns the message in skopeo's last line, which is `time="…" level=fatal msg="…"`. */
function reasonOf(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  const [, quoted] = /msg=("(?:[^"\\]|\\.)*")/.exec(line) ?? [];
  return (quoted === undefined ? line : String(JSON.parse(quoted))).slice(0, 500);
}
