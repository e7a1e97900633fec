import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type MultipartUpload,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { BackupError } from '../failures/explained-errors.js';
import type { BackupStore, StoredObject } from './backup-store.js';

const ARCHIVE = '/archive';
/** Suffix of a small object that is written after the archive. An archive without it is incomplete. */
const WHOLE = '/whole';
/** Size of an upload's parts, in bytes. S3 accepts at most ten thousand parts. */
const PART_BYTES = 32 * 1024 * 1024;

/** Archives in a bucket of S3-compatible storage, below the prefix. */
export class S3Store implements BackupStore {
  readonly id = 's3';
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor({ bucket, endpoint, region, accessKeyId, secretAccessKey, prefix }: Config['backups']) {
    const given = accessKeyId !== null && secretAccessKey !== null;
    this.#client = new S3Client({
      region,
      ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
      ...(given ? { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() } } : {}),
      // Only Amazon supports the newer checksums. The archive is authenticated itself, so they are not needed.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    this.#bucket = bucket ?? '';
    this.#prefix = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
  }

  async write(name: string, archive: Readable, signal: AbortSignal): Promise<number> {
    await this.remove(name);
    let size = 0;
    const body = Readable.from(
      counted(archive, (bytes) => {
        size += bytes;
      }),
      { objectMode: false },
    );
    const upload = new Upload({
      client: this.#client,
      params: { Bucket: this.#bucket, Key: this.#key(name) + ARCHIVE, Body: body },
      partSize: PART_BYTES,
      queueSize: 2,
    });
    const abort = () => void upload.abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      await upload.done();
      return size;
    } catch (error) {
      archive.destroy();
      body.destroy();
      signal.throwIfAborted();
      throw explained(error);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async read(name: string, signal: AbortSignal): Promise<Readable> {
    try {
      const { Body } = await this.#client.send(
        new GetObjectCommand({ Bucket: this.#bucket, Key: this.#key(name) + ARCHIVE }),
        { abortSignal: signal },
      );
      if (!(Body instanceof Readable)) throw new Error('the answer has no content');
      return Body;
    } catch (error) {
      signal.throwIfAborted();
      if (isMissing(error)) throw new BackupError('the archive is not in the backup store any more');
      throw explained(error);
    }
  }

  async publish(name: string): Promise<void> {
    const Key = this.#key(name);
    await orExplained(this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: Key + ARCHIVE })));
    await orExplained(
      this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key: Key + WHOLE, Body: 'whole' })),
    );
  }

  async remove(name: string): Promise<void> {
    const key = this.#key(name);
    // The marker is removed first, so that an interrupted removal leaves an incomplete archive.
    for (const part of [WHOLE, ARCHIVE]) {
      await orExplained(this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key + part })));
    }
    for (const { Key, UploadId } of await this.#uploads(key + ARCHIVE)) {
      await orExplained(this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId })));
    }
  }

  async list(prefix: string): Promise<StoredObject[]> {
    const found: StoredObject[] = [];
    let token: string | undefined;
    do {
      const page = await orExplained(
        this.#client.send(
          new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#key(prefix), ContinuationToken: token }),
        ),
      );
      for (const { Key = '', LastModified } of page.Contents ?? []) {
        if (!Key.endsWith(ARCHIVE)) continue;
        const name = Key.slice(this.#prefix.length, -ARCHIVE.length);
        found.push({ name, changedAt: LastModified ?? new Date() });
      }
      token = page.NextContinuationToken;
    } while (token !== undefined);
    for (const { Key = '', Initiated } of await this.#uploads(this.#key(prefix))) {
      const name = Key.slice(this.#prefix.length, -ARCHIVE.length);
      if (Key.endsWith(ARCHIVE)) found.push({ name, changedAt: Initiated ?? new Date() });
    }
    return found;
  }

  /** Lists uploads that were started but not finished. Their parts cost storage, and no list of objects shows them. */
  async #uploads(prefix: string): Promise<MultipartUpload[]> {
    try {
      const page = await orExplained(
        this.#client.send(new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: prefix })),
      );
      return page.Uploads ?? [];
    } catch (error) {
      // Some small servers cannot list uploads.
      if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 501) return [];
      throw error;
    }
  }

  #key(name: string): string {
    return this.#prefix + name;
  }
}

async function* counted(archive: Readable, count: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of archive as AsyncIterable<Buffer>) {
    count(chunk.length);
    yield chunk;
  }
}

function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes((error as { name?: string }).name ?? '');
}

/** Error codes that trying again does not change. Any other error may be a temporary outage of the storage. */
const REFUSALS = ['NoSuchBucket', 'AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'QuotaExceeded'];

async function orExplained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): unknown {
  const { name = '' } = error as { name?: string };
  if (!REFUSALS.includes(name)) return error;
  return new BackupError(
    `the backup store refuses: ${name} (${errorMessage(error)}); check BACKUP_S3_BUCKET and its keys`,
  );
}
