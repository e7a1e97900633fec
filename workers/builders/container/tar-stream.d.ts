/** What this house uses of tar-stream 2, which has no types of its own. */
declare module 'tar-stream' {
  import type { Readable, Writable } from 'node:stream';

  export interface Header {
    name: string;
    type?: 'file' | 'directory' | 'symlink';
    mode?: number;
    mtime?: Date;
    size?: number;
    linkname?: string;
  }

  export interface Pack extends Readable {
    entry(header: Header): Writable;
    entry(header: Header, callback: (error?: Error | null) => void): Writable;
    entry(header: Header, content: string | Buffer, callback: (error?: Error | null) => void): Writable;
    finalize(): void;
  }

  export interface Extract extends Writable {
    on(event: 'entry', listener: (header: Header, body: Readable, next: (error?: unknown) => void) => void): this;
    on(event: string, listener: (...args: unknown[]) => void): this;
  }

  export function pack(): Pack;
  export function extract(): Extract;
}
