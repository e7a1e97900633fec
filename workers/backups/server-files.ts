import { posix } from 'node:path';
import type pg from 'pg';
import { TenantFolder } from '../volumes/tenant-folder.js';
import { type ArchiveWriter, MAX_ENTRIES, tooManyEntries } from './backup-archive.js';

interface ServerFile {
  name: string;
  type: 'file' | 'folder' | 'other';
}

/** The files of a running PostgreSQL, by paths below its data folder. Reading a missing file rejects with ENOENT. */
export interface ServerFiles {
  list(folder: string): Promise<ServerFile[]>;
  /** Adds a file of the folder that was listed last. Its content may be read ahead at any time after the listing. */
  add(archive: ArchiveWriter, name: string, signal: AbortSignal): Promise<void>;
  /** Adds a file with the content that it has during this call; nothing is read ahead. */
  addNow(archive: ArchiveWriter, name: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Opens the server's folder on this host. Listing a folder with more than `maxEntries` entries fails. */
export async function localFiles(root: string, maxEntries = MAX_ENTRIES): Promise<ServerFiles> {
  const top = await TenantFolder.open(root);
  // The folder stays open, because most files are added one after another from the same folder.
  let last: { path: string; folder: TenantFolder } | null = null;
  const at = async (path: string): Promise<TenantFolder> => {
    if (path === '') return top;
    if (last?.path === path) return last.folder;
    await forget();
    last = { path, folder: await top.folder(path) };
    return last.folder;
  };
  const forget = async () => {
    const forgotten = last;
    last = null;
    await forgotten?.folder.close();
  };
  const add: ServerFiles['add'] = async (archive, name, signal) => {
    const above = posix.dirname(name);
    const folder = await at(above === '.' ? '' : above);
    await archive.addFile(name, await folder.file(posix.basename(name)), signal);
  };
  return {
    async list(path) {
      const found: ServerFile[] = [];
      for await (const entry of (await at(path)).entries()) {
        const type = entry.isDirectory() ? 'folder' : entry.isFile() ? 'file' : 'other';
        if (found.push({ name: entry.name, type }) > maxEntries) throw tooManyEntries(maxEntries);
      }
      return found;
    },
    add,
    addNow: add,
    close: () => forget().finally(() => top.close()),
  };
}

/** Maximum number of bytes of file content that one query returns. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Reads files that only the server can open, through a session of the platform's own user. */
export class FilesThroughServer implements ServerFiles {
  readonly #client: pg.Client;
  /** The small files of the last listed folder that are still unread, with their sizes. */
  #listed: { name: string; size: number }[] = [];
  /** Contents of files that one query has read ahead. Separate queries for hundreds of small files would be slow. */
  #read = new Map<string, Buffer>();

  constructor(client: pg.Client) {
    this.#client = client;
  }

  async close(): Promise<void> {}

  async list(folder: string): Promise<ServerFile[]> {
    const { rows } = await this.#client.query<{ name: string; isdir: boolean; size: string }>(
      `select n as name, f.isdir, f.size from pg_ls_dir($1, true, false) n, pg_stat_file($1 || '/' || n, true) f
        where f.isdir is not null order by n collate "C"`,
      [folder === '' ? '.' : folder],
    );
    this.#read.clear();
    this.#listed = rows
      .filter(({ isdir, size }) => !isdir && Number(size) <= PIECE_BYTES)
      .map(({ name, size }) => ({ name: folder === '' ? name : `${folder}/${name}`, size: Number(size) }));
    return rows.map(({ name, isdir }) => ({ name, type: isdir ? 'folder' : 'file' }));
  }

  async add(archive: ArchiveWriter, name: string, signal: AbortSignal): Promise<void> {
    const at = this.#listed.findIndex((file) => file.name === name);
    if (at >= 0) {
      await this.#readFrom(at);
      signal.throwIfAborted();
    }
    const content = this.#read.get(name);
    if (content === undefined) return this.addNow(archive, name, signal);
    this.#read.delete(name);
    await archive.addContent(name, content.length, async (position) => content.subarray(position));
  }

  async addNow(archive: ArchiveWriter, name: string, signal: AbortSignal): Promise<void> {
    const { rows } = await this.#client.query<{ size: string | null }>('select size from pg_stat_file($1, true)', [
      name,
    ]);
    const size = rows[0]?.size ?? null;
    if (size === null) throw gone(name);
    await archive.addContent(name, Number(size), async (position) => {
      signal.throwIfAborted();
      const [piece] = await this.#pieces([name], position);
      return piece?.content ?? Buffer.alloc(0);
    });
  }

  /** Reads the file at the index `at` of the list, and as many of the files after it as one query may return. */
  async #readFrom(at: number): Promise<void> {
    const names: string[] = [];
    let bytes = 0;
    for (const file of this.#listed.slice(at)) {
      bytes += file.size;
      if (names.length > 0 && bytes > PIECE_BYTES) break;
      names.push(file.name);
    }
    this.#listed.splice(at, names.length);
    this.#read.clear();
    for (const { name, content } of await this.#pieces(names, 0)) {
      // A file that has grown to the size of a piece may be incomplete here, so a separate query reads it.
      if (content !== null && content.length < PIECE_BYTES) this.#read.set(name, content);
    }
  }

  async #pieces(names: readonly string[], position: number): Promise<{ name: string; content: Buffer | null }[]> {
    // The query returns base64. PostgreSQL would send bytea as hexadecimal text, which is 1.5 times as long as base64.
    const { rows } = await this.#client.query<{ name: string; piece: string | null }>(
      `select n as name, encode(pg_read_binary_file(n, $2::bigint, $3::bigint, true), 'base64') as piece
         from unnest($1::text[]) n`,
      [names, position, PIECE_BYTES],
    );
    return rows.map(({ name, piece }) => ({ name, content: piece === null ? null : Buffer.from(piece, 'base64') }));
  }
}

function gone(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${name} is gone`), { code: 'ENOENT' });
}
