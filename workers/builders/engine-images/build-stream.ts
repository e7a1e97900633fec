import { text } from '../../../shared/core/json-fields.js';
import { readEvents } from '../../docker/engine-events.js';
import { type LineCutter, LineSplitter } from '../../sandbox/line-splitter.js';
import { Status, type Vertex } from './buildkit-messages.js';

export interface BuildEnd {
  /** `sha256:…`; null if no image was built. */
  imageId: string | null;
  /** Why the build failed. The engine reports failures as progress events, while the call itself succeeds. */
  error: string | null;
}

/** Follows a build to its end. Calls `onLine` with each line of output, in order, and awaits each call. */
export async function followBuild(
  stream: AsyncIterable<Buffer | string>,
  { onLine, cutter }: { onLine: (line: string) => Promise<void>; cutter?: LineCutter },
): Promise<BuildEnd> {
  const end: BuildEnd = { imageId: null, error: null };
  const traces = new TraceLines(cutter);
  for await (const event of readEvents(stream)) {
    if (event.error !== undefined) end.error = event.errorDetail?.message ?? event.error;
    else if (event.id === 'moby.buildkit.trace') for (const line of traces.read(event.aux)) await onLine(line);
    else if (event.aux !== undefined) end.imageId = text(event.aux, 'ID') || end.imageId;
    else if (event.status !== undefined && event.id === undefined) await onLine(event.status);
  }
  for (const line of traces.end()) await onLine(line);
  return end;
}

/** Turns BuildKit's traces into lines: the name of each step once, when the step starts, and the step's output. */
class TraceLines {
  readonly #cutter: LineCutter | undefined;
  readonly #announced = new Set<string>();
  /** Output is collected for each step, because steps run at the same time. */
  readonly #output = new Map<string, LineSplitter>();

  constructor(cutter: LineCutter | undefined) {
    this.#cutter = cutter;
  }

  /** Returns the log lines for one status message of BuildKit. `aux` is the message, encoded in base64. */
  read(aux: unknown): string[] {
    if (typeof aux !== 'string') return [];
    const { vertexes, logs } = Status.decode(Buffer.from(aux, 'base64'));
    // A message may contain both the last output of a step and its completion, so output is read first.
    const begun = vertexes.filter((vertex) => !vertex.completed || vertex.cached).flatMap((v) => this.#announce(v));
    const output = logs.flatMap(({ vertex, msg }) => this.#splitter(vertex).push(msg));
    const ended = vertexes.filter((vertex) => vertex.completed).flatMap((v) => this.#end(v));
    return [...begun, ...output, ...ended];
  }

  end(): string[] {
    return [...this.#output.values()].flatMap((splitter) => splitter.end());
  }

  #announce({ digest, name, started, cached }: Vertex): string[] {
    if (this.#announced.has(digest) || !(started || cached)) return [];
    this.#announced.add(digest);
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
