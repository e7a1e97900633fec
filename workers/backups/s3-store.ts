import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type MultipartUpload,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Config } from '../../shared/core/config.js';
import { errorMessage } from '../../shared/core/error-registry.js';
import { onAbort } from '../../shared/core/on-abort.js';
import { BackupError } from '../failures/explained-errors.js';
import type { BackupStore, StoredObject } from './backup-store.js';

const ARCHIVE = '/archive';
/** Suffix of a small object that is written after the archive. An archive without it is incomplete. */
const WHOLE = '/whole';
/** Size of an upload's parts, in bytes. S3 accepts at most ten thousand parts. */
const PART_BYTES = 32 * 1024 * 1024;

/** Archives in a bucket of S3-compatible storage. The names of all objects begin with `prefix`. */
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
      // Only Amazon supports the newer checksums. The encryption of archives detects changes, so they are not needed.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    this.#bucket = bucket ?? '';
    this.#prefix = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
  }

  async write(name: string, archive: Readable, signal: AbortSignal): Promise<number> {
    await this.remove(name);
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#place(name, ARCHIVE), Body: archive },
      partSize: PART_BYTES,
      queueSize: 2,
    });
    let size = 0;
    upload.on('httpUploadProgress', ({ loaded = 0 }) => {
      size = loaded;
    });
    const forgetAbort = onAbort(signal, () => void upload.abort());
    try {
      signal.throwIfAborted();
      await upload.done();
      return size;
    } catch (error) {
      archive.destroy();
      signal.throwIfAborted();
      throw explained(error);
    } finally {
      forgetAbort();
    }
  }

  async read(name: string, signal: AbortSignal): Promise<Readable> {
    try {
      const command = new GetObjectCommand(this.#place(name, ARCHIVE));
      const { Body } = await this.#client.send(command, { abortSignal: signal });
      if (!(Body instanceof Readable)) throw new Error('the answer has no content');
      return Body;
    } catch (error) {
      signal.throwIfAborted();
      if (isMissing(error)) throw new BackupError('the archive is not in the backup store any more');
      throw explained(error);
    }
  }

  publish(name: string): Promise<void> {
    return orExplained(async () => {
      await this.#client.send(new HeadObjectCommand(this.#place(name, ARCHIVE)));
      await this.#client.send(new PutObjectCommand({ ...this.#place(name, WHOLE), Body: 'whole' }));
    });
  }

  remove(name: string): Promise<void> {
    return orExplained(async () => {
      // The marker is removed first, so that an interrupted removal leaves an incomplete archive.
      for (const part of [WHOLE, ARCHIVE]) await this.#client.send(new DeleteObjectCommand(this.#place(name, part)));
      for (const { Key, UploadId } of await this.#uploads(name + ARCHIVE)) {
        await this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId }));
      }
    });
  }

  list(prefix: string): Promise<StoredObject[]> {
    return orExplained(async () => {
      const found: StoredObject[] = [];
      const add = (key = '', changedAt = new Date()) => {
        if (key.endsWith(ARCHIVE)) found.push({ name: key.slice(this.#prefix.length, -ARCHIVE.length), changedAt });
      };
      const place = { Bucket: this.#bucket, Prefix: this.#prefix + prefix };
      for await (const { Contents = [] } of paginateListObjectsV2({ client: this.#client }, place)) {
        for (const { Key, LastModified } of Contents) add(Key, LastModified);
      }
      for (const { Key, Initiated } of await this.#uploads(prefix)) add(Key, Initiated);
      return found;
    });
  }

  /** Lists uploads that were started but not finished. Their parts cost storage, and no list of objects shows them. */
  async #uploads(prefix: string): Promise<MultipartUpload[]> {
    try {
      const found: MultipartUpload[] = [];
      for (let after: { KeyMarker?: string; UploadIdMarker?: string } = {}; ; ) {
        const place = { Bucket: this.#bucket, Prefix: this.#prefix + prefix, ...after };
        const page = await this.#client.send(new ListMultipartUploadsCommand(place));
        found.push(...(page.Uploads ?? []));
        const { NextKeyMarker: KeyMarker = '', NextUploadIdMarker: UploadIdMarker = '' } = page;
        // A server that ignores the markers would send the same page again and again.
        if (!page.IsTruncated || UploadIdMarker === after.UploadIdMarker) return found;
        after = { KeyMarker, UploadIdMarker };
      }
    } catch (error) {
      // Some simple S3-compatible servers cannot list uploads.
      if ((error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === 501) return [];
      throw error;
    }
  }

  #place(name: string, part: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + name + part };
  }
}

function isMissing(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes((error as { name?: string }).name ?? '');
}

/** Error codes that a retry cannot resolve. Any other error may be a temporary outage of the storage. */
const REFUSALS = ['NoSuchBucket', 'AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'QuotaExceeded'];

function orExplained<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw explained(error);
  });
}

function explained(error: unknown): unknown {
  const { name = '' } = error as { name?: string };
  if (!REFUSALS.includes(name)) return error;
  return new BackupError(
    `the backup store refuses: ${name} (${errorMessage(error)}); check BACKUP_S3_BUCKET and its keys`,
  );
}
