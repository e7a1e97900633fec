export interface EngineEvent {
  stream?: string;
  status?: string;
  id?: string;
  progressDetail?: unknown;
  error?: string;
  errorDetail?: { code?: number; message?: string };
  aux?: unknown;
}

/** Yields the events from a stream of JSON lines. Chunks may end anywhere, even within a character. */
export async function* readEvents(stream: AsyncIterable<Buffer | string>): AsyncGenerator<EngineEvent> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of stream) {
    pending += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = pending.split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as EngineEvent;
  }
  if (pending.trim() !== '') yield JSON.parse(pending) as EngineEvent;
}
