import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './http.js';

const BUCKET = 'backups';
export const ACCESS_KEY = 'stub';
/** Objects or uploads in a page of a list: few, so that small lists have several pages. */
const PAGE = 2;

interface StoredBytes {
  key: string;
  content: Buffer;
  changedAt: string;
}

interface Answer {
  status: number;
  body?: string | Buffer;
  headers?: Record<string, string>;
}

const refusal = (status: number, code: string): Answer => ({ status, body: `<Error><Code>${code}</Code></Error>` });
const xml = (name: string, content: string): Answer => ({ status: 200, body: `<${name}>${content}</${name}>` });

/** An S3 server in memory with what backups use. It checks the access key, but not the signature. */
export class S3Server {
  readonly objects = new Map<string, StoredBytes>();
  readonly uploads = new Map<string, { key: string; startedAt: string; parts: Map<number, Buffer> }>();
  readonly #server = createServer(async (request, response) => {
    const { status, body = '', headers = {} } = await this.#answer(request);
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers });
    response.end(request.method === 'HEAD' ? undefined : body);
  });

  async listen(): Promise<string> {
    return `http://127.0.0.1:${await listen(this.#server)}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    // If the sender disconnects before the end, nothing is stored.
    const content = await buffer(request).catch(() => null);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3');
    const [, bucket = '', key = ''] = /^\/([^/]*)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    if (content === null) return refusal(400, 'IncompleteBody');
    if (!request.headers.authorization?.includes(`Credential=${ACCESS_KEY}/`))
      return refusal(403, 'InvalidAccessKeyId');
    if (bucket !== BUCKET) return refusal(404, 'NoSuchBucket');
    if (searchParams.has('uploads') || searchParams.has('uploadId')) {
      return this.#upload(request.method ?? '', key, searchParams, content);
    }
    return key === '' ? this.#list(searchParams) : this.#object(request.method ?? '', key, content);
  }

  #object(method: string, key: string, content: Buffer): Answer {
    if (method === 'PUT') this.#put(key, content);
    if (method === 'DELETE') this.objects.delete(key);
    if (method === 'DELETE') return { status: 204 };
    const found = this.objects.get(key);
    return found ? { status: 200, body: method === 'GET' ? found.content : '' } : refusal(404, 'NoSuchKey');
  }

  #put(key: string, content: Buffer): void {
    this.objects.set(key, { key, content, changedAt: new Date().toISOString() });
  }

  #list(query: URLSearchParams): Answer {
    const first = Number(query.get('continuation-token') ?? 0);
    const all = [...this.objects.values()].filter(({ key }) => key.startsWith(query.get('prefix') ?? ''));
    const entries = all.slice(first, first + PAGE).map(({ key, changedAt, content }) => {
      return `<Contents><Key>${key}</Key><LastModified>${changedAt}</LastModified><Size>${content.length}</Size></Contents>`;
    });
    const next = first + PAGE < all.length ? `<NextContinuationToken>${first + PAGE}</NextContinuationToken>` : '';
    return xml('ListBucketResult', entries.join('') + next);
  }

  #upload(method: string, key: string, query: URLSearchParams, content: Buffer): Answer {
    const id = query.get('uploadId');
    if (id === null && method === 'GET') {
      const begun = [...this.uploads].filter(([, upload]) => upload.key.startsWith(query.get('prefix') ?? ''));
      const first = begun.findIndex(([uploadId]) => uploadId === query.get('upload-id-marker')) + 1;
      const page = begun.slice(first, first + PAGE);
      const entries = page.map(
        ([uploadId, upload]) =>
          `<Upload><Key>${upload.key}</Key><UploadId>${uploadId}</UploadId><Initiated>${upload.startedAt}</Initiated></Upload>`,
      );
      const [last, { key: lastKey = '' } = {}] = page.at(-1) ?? [];
      const next = `<NextKeyMarker>${lastKey}</NextKeyMarker><NextUploadIdMarker>${last}</NextUploadIdMarker>`;
      const more = first + PAGE < begun.length ? `<IsTruncated>true</IsTruncated>${next}` : '';
      return xml('ListMultipartUploadsResult', entries.join('') + more);
    }
    if (id === null) {
      const made = randomUUID();
      this.uploads.set(made, { key, startedAt: new Date().toISOString(), parts: new Map() });
      return xml('InitiateMultipartUploadResult', `<UploadId>${made}</UploadId>`);
    }
    const upload = this.uploads.get(id);
    if (upload === undefined) return refusal(404, 'NoSuchUpload');
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), content);
      return { status: 200, headers: { etag: `"${query.get('partNumber')}"` } };
    }
    this.uploads.delete(id);
    if (method === 'DELETE') return { status: 204 };
    const parts = [...upload.parts].sort(([a], [b]) => a - b);
    this.#put(key, Buffer.concat(parts.map(([, part]) => part)));
    return xml('CompleteMultipartUploadResult', `<Key>${key}</Key><ETag>whole</ETag>`);
  }
}
