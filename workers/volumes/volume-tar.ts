import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { BackupError } from '../failures/explained-errors.js';
import { ended, spawnInVolume, spawnTool, type VolumeContent } from './volume-program.js';

const ATTRIBUTES = ['--numeric-owner', '--xattrs', '--acls'];
const PACK = ['--create', '--file=-', '--format=posix', '--sparse', '--one-file-system', ...ATTRIBUTES];
/**
 * Conditions of `find` for paths without a line break and without white space at the end. tar would misread other
 * paths, because it reads one path per line and strips white space at the end.
 */
const PLAIN_NAME = ['!', '-path', '*\n*', '!', '-path', '*[[:space:]]'];
const FIND_SPECIAL = ['find', '.', '-xdev', '-type', 'p,s,b,c'];
const UNPACK = ['--extract', '--file=-', '--preserve-permissions', ...ATTRIBUTES];
/** tar's messages about a file that the application changed or removed meanwhile. */
const CHANGED = /: (file changed as we read it|File removed before we read it|File shrank by .*)$/;
const FILES_CHANGED = 1;

const MAX_LIST_BYTES = 64 * 1024 * 1024;

export interface PackReport {
  /** Number of files that changed or disappeared while they were read. */
  changed: number;
  /** Number of pipes, sockets and devices, which are left out. */
  skipped: number;
}

/** Packs a volume with tar and passes the output on in pieces. Leaves out pipes, sockets and devices. */
export async function packVolume(
  content: VolumeContent,
  { listFile, signal }: { listFile: string; signal: AbortSignal },
  onPiece: (piece: Buffer) => Promise<void>,
): Promise<PackReport> {
  const skipped = await listSpecial(content, listFile, signal);
  const list = await open(listFile, 'r');
  try {
    const argv = ['tar', ...PACK, '--anchored', '--no-wildcards', '--exclude-from=-', '.'];
    const child = await spawnInVolume(content, 'read', argv, [list.fd, 'pipe', 'pipe']);
    let changed = 0;
    const onLine = (line: string) => {
      const isChange = CHANGED.test(line);
      if (isChange) changed += 1;
      return isChange || line.endsWith(': socket ignored');
    };
    const end = ended(child, 'tar', signal, { most: FILES_CHANGED, onLine });
    // The promise may reject before anything awaits it.
    end.catch(() => undefined);
    try {
      for await (const piece of child.stdout as AsyncIterable<Buffer>) await onPiece(piece);
    } finally {
      child.stdout?.destroy();
    }
    await end;
    return { changed, skipped };
  } finally {
    await list.close();
    await rm(listFile, { force: true });
  }
}

async function listSpecial(content: VolumeContent, listFile: string, signal: AbortSignal): Promise<number> {
  const list = await open(listFile, 'w', 0o600);
  try {
    // If folders disappear meanwhile, find exits with 1.
    const argv = [...FIND_SPECIAL, ...PLAIN_NAME, '-print'];
    const child = await spawnInVolume(content, 'read', argv, ['ignore', 'pipe', 'pipe']);
    const end = ended(child, 'find', signal, { most: FILES_CHANGED });
    end.catch(() => undefined);
    let [count, bytes] = [0, 0];
    // Read the output at once: when a process exits, Node.js discards output that has no reader yet.
    try {
      for await (const piece of child.stdout as AsyncIterable<Buffer>) {
        for (const byte of piece) if (byte === 0x0a) count += 1;
        bytes += piece.length;
        if (bytes > MAX_LIST_BYTES) throw new BackupError('it holds too many pipes, sockets and devices; remove them');
        await list.writeFile(piece);
      }
    } finally {
      child.stdout?.destroy();
    }
    await end;
    return count;
  } finally {
    await list.close();
  }
}

/** A running tar that reads an archive from its standard input. */
export interface TarReader {
  write(piece: Buffer): Promise<void>;
  end(): Promise<void>;
  close(): void;
}

/** Starts a tar that unpacks into a new, empty volume. */
export async function unpackVolume(content: VolumeContent, signal: AbortSignal): Promise<TarReader> {
  // With `--no-same-owner`, the service's user gets all files: the archive may come from a host with other users.
  const owner = content.ownersDiffer ? '--same-owner' : '--no-same-owner';
  return readerOf(await spawnInVolume(content, 'write', ['tar', ...UNPACK, owner], ['pipe', 'ignore', 'pipe']), signal);
}

/** Starts a tar that reads a whole archive without storing anything. */
export async function verifyTar(signal: AbortSignal): Promise<TarReader> {
  return readerOf(spawnTool(['tar', '--list', '--file=-'], ['pipe', 'ignore', 'pipe']), signal);
}

function readerOf(child: Awaited<ReturnType<typeof spawnInVolume>>, signal: AbortSignal): TarReader {
  const input = child.stdin as Writable;
  // If tar fails, writing to it fails too. `ended` reports tar's exit code.
  input.on('error', () => undefined);
  const over = new AbortController();
  const end = ended(child, 'tar', AbortSignal.any([signal, over.signal]));
  end.catch(() => undefined);
  return {
    async write(piece) {
      if (input.destroyed) return;
      if (!input.write(piece)) await Promise.race([once(input, 'drain'), end]);
    },
    async end() {
      input.end();
      await end;
    },
    close: () => over.abort(),
  };
}
