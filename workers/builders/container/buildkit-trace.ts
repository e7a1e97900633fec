import { readFields } from './protobuf.js';

/** What BuildKit says of one step, each time anything about it changes. */
export interface Vertex {
  digest: string;
  name: string;
  cached: boolean;
  started: boolean;
  completed: boolean;
}

/** A piece of a step's output, cut anywhere. */
export interface VertexLog {
  vertex: string;
  bytes: Buffer;
}

export interface Trace {
  vertexes: Vertex[];
  logs: VertexLog[];
}

/**
 * Decodes the `moby.buildkit.trace` of a build's progress: base64 of `moby.buildkit.v1.StatusResponse`. The client's own
 * decoder makes base64 of the output.
 */
export function decodeTrace(aux: string): Trace {
  const trace: Trace = { vertexes: [], logs: [] };
  for (const field of readFields(Buffer.from(aux, 'base64'))) {
    if (!('bytes' in field)) continue;
    if (field.number === 1) trace.vertexes.push(decodeVertex(field.bytes));
    if (field.number === 3) trace.logs.push(decodeLog(field.bytes));
  }
  return trace;
}

function decodeVertex(message: Buffer): Vertex {
  const vertex: Vertex = { digest: '', name: '', cached: false, started: false, completed: false };
  for (const field of readFields(message)) {
    if ('value' in field) {
      if (field.number === 4) vertex.cached = field.value !== 0n;
    } else if (field.number === 1) vertex.digest = field.bytes.toString();
    else if (field.number === 3) vertex.name = field.bytes.toString();
    else if (field.number === 5) vertex.started = true;
    else if (field.number === 6) vertex.completed = true;
  }
  return vertex;
}

function decodeLog(message: Buffer): VertexLog {
  const log: VertexLog = { vertex: '', bytes: Buffer.alloc(0) };
  for (const field of readFields(message)) {
    if (!('bytes' in field)) continue;
    if (field.number === 1) log.vertex = field.bytes.toString();
    else if (field.number === 4) log.bytes = field.bytes;
  }
  return log;
}
