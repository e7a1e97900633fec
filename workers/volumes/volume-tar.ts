import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { BackupError } from '../failures/explained-errors.js';
import { ended, spawnInVolume, spawnTool, type VolumeContent } from './volume-program.js';

const ATTRIBUTES = ['--numeric-owner', '--xattrs', '--acls'];
const PACK = ['--create', '--file=-', '--format=posix', '--sparse', '--one-file-system', ...ATTRIBUTES];
const FIND_SPECIAL = ['find', '.', '-xdev', '-type', 'p,s,b,c', '-print0'];
/**
 * Matches paths that tar would misread in a list, because it reads one path per line and strips white space at the end.
 * tar gets these paths as arguments.
 */
const UNLISTABLE = /\n|[ \t\v\f\r]$/;
const UNPACK = ['--extract', '--file=-', '--preserve-permissions', ...ATTRIBUTES];
/** tar's messages about a file that the application changed or removed meanwhile. */
const CHANGED = /: (file changed as we read it|File removed before we read it|File shrank by .*)$/;
const FILES_CHANGED = 1;

const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** With this number of paths of the greatest length, the arguments stay below the system's limit. */
const MAX_UNLISTABLE = 200;

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
  const { skipped, excluded } = await listSpecial(content, listFile, signal);
  const list = await open(listFile, 'r');
  try {
    const argv = ['tar', ...PACK, '--anchored', '--no-wildcards', '--exclude-from=-', ...excluded, '.'];
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

/** Writes the paths of pipes, sockets and devices to a list. `excluded` are tar's options for those not in the list. */
async function listSpecial(
  content: VolumeContent,
  listFile: string,
  signal: AbortSignal,
): Promise<{ skipped: number; excluded: string[] }> {
  const list = await open(listFile, 'w', 0o600);
  try {
    // If folders disappear meanwhile, find exits with 1.
    const child = await spawnInVolume(content, 'read', FIND_SPECIAL, ['ignore', 'pipe', 'pipe']);
    const end = ended(child, 'find', signal, { most: FILES_CHANGED });
    end.catch(() => undefined);
    let [skipped, bytes, rest] = [0, 0, ''];
    const excluded: string[] = [];
    // Read the output at once: when a process exits, Node.js discards output that has no reader yet.
    try {
      for await (const piece of child.stdout as AsyncIterable<Buffer>) {
        // Latin-1 keeps the bytes of paths that are not UTF-8.
        const paths = (rest + piece.toString('latin1')).split('\0');
        rest = paths.pop() ?? '';
        skipped += paths.length;
        bytes += piece.length;
        for (const path of paths.filter((each) => UNLISTABLE.test(each)))
          excluded.push(`--exclude=${Buffer.from(path, 'latin1')}`);
        if (bytes > MAX_LIST_BYTES || excluded.length > MAX_UNLISTABLE)
          throw new BackupError('it holds too many pipes, sockets and devices; remove them');
        const lines = paths.filter((each) => !UNLISTABLE.test(each)).map((path) => `${path}\n`);
        await list.writeFile(lines.join(''), 'latin1');
      }
    } finally {
      child.stdout?.destroy();
    }
    await end;
    return { skipped, excluded };
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
