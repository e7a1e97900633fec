import { readEvents } from '../../docker/events.js';
import { type LineCutter, LineSplitter } from '../../sandbox/lines.js';
import { decodeTrace, type Vertex } from './buildkit-trace.js';

/** How a build ended, as the engine tells at the end of its progress. */
export interface BuildEnd {
  /** `sha256:…`; null where nothing was made. */
  imageId: string | null;
  /** A failed build is an event of its progress, and no failed call. */
  error: string | null;
}

export interface StreamOptions {
  /** Each line of output and progress, in order; awaiting it holds the build back. */
  onLine: (line: string) => Promise<void>;
  cutter?: LineCutter;
}

/** What the classic builder says of its containers and layers. */
const BOOKKEEPING = /^ ---> (Running in )?[0-9a-f]{12}$|^Removing intermediate container [0-9a-f]{12}$/;

/** Follows a build's progress, of the classic builder or of BuildKit, to its end. */
export async function followBuild(
  stream: AsyncIterable<Buffer | string>,
  { onLine, cutter }: StreamOptions,
): Promise<BuildEnd> {
  const end: BuildEnd = { imageId: null, error: null };
  const classic = new LineSplitter(cutter);
  const traces = new Traces(cutter);
  for await (const event of readEvents(stream)) {
    if (event.error !== undefined) end.error = event.errorDetail?.message ?? event.error;
    else if (event.id === 'moby.buildkit.trace') for (const line of traces.read(event.aux)) await onLine(line);
    else if (event.aux !== undefined) end.imageId = imageIdOf(event.aux) ?? end.imageId;
    else if (event.stream !== undefined) {
      for (const line of classic.push(Buffer.from(event.stream))) if (!BOOKKEEPING.test(line)) await onLine(line);
    } else if (event.status !== undefined && event.id === undefined) await onLine(event.status);
  }
  for (const line of [...classic.end(), ...traces.end()]) await onLine(line);
  return end;
}

function imageIdOf(aux: unknown): string | null {
  const id = typeof aux === 'object' && aux !== null && 'ID' in aux ? aux.ID : null;
  return typeof id === 'string' ? id : null;
}

/** Makes lines of BuildKit's traces: each step once when it begins, and its output; why one failed the build's end says. */
class Traces {
  readonly #cutter: LineCutter | undefined;
  readonly #told = new Set<string>();
  /** By step: steps run at the same time. */
  readonly #output = new Map<string, LineSplitter>();

  constructor(cutter: LineCutter | undefined) {
    this.#cutter = cutter;
  }

  read(aux: unknown): string[] {
    if (typeof aux !== 'string') return [];
    const { vertexes, logs } = decodeTrace(aux);
    // A step that ends may have its last output in the same message.
    const begun = vertexes.filter((vertex) => !vertex.completed || vertex.cached).flatMap((v) => this.#tell(v));
    const output = logs.flatMap(({ vertex, bytes }) => this.#splitter(vertex).push(bytes));
    const ended = vertexes.filter((vertex) => vertex.completed).flatMap((v) => this.#end(v));
    return [...begun, ...output, ...ended];
  }

  end(): string[] {
    return [...this.#output.values()].flatMap((splitter) => splitter.end());
  }

  #tell({ digest, name, started, cached }: Vertex): string[] {
    if (this.#told.has(digest) || !(started || cached)) return [];
    this.#told.add(digest);
    return [cached ? `CACHED ${name}` : name];
  }

  #end({ digest }: Vertex): string[] {
    return this.#output.get(digest)?.end() ?? [];
  }

  #splitter(vertex: string): LineSplitter {
    const known = this.#output.get(vertex);
    if (known) return known;
    const splitter = new LineSplitter(this.#cutter);
    this.#output.set(vertex, splitter);
    return splitter;
  }
}
