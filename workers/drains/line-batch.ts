import type { LogLineRow } from '../../shared/logs/model.js';
import type { ServiceFacts } from './otlp.js';

/** `lines` are the unsent lines that are still stored, in order of their ids, up to a limit. */
export interface WaitingLines {
  serviceId: string;
  sentId: number;
  lastId: number;
  lines: (LogLineRow & ServiceFacts)[];
}

export interface LineBatch {
  lines: (LogLineRow & ServiceFacts)[];
  /** Service id → id of its last line that needs no further request. */
  positions: Map<string, number>;
  /** Number of lines that were deleted before they could be sent. */
  lost: number;
  more: boolean;
}

/** Approximate size of a log record without its text. */
const BYTES_OF_RECORD = 500;

/**
 * Decides which lines one request sends. Each service gets an equal share of `maxBytes`, but at least one line. Ids
 * have no gaps: if an id is missing, the line was deleted.
 */
export function lineBatch(waiting: readonly WaitingLines[], maxBytes: number): LineBatch {
  const batch: LineBatch = { lines: [], positions: new Map(), lost: 0, more: false };
  const share = maxBytes / waiting.length;
  for (const { serviceId, sentId, lastId, lines } of waiting) {
    const taken = withinBytes(lines, share);
    // If no unsent line is stored, all of them were deleted, so the position moves to the id of the last one.
    const position = taken.at(-1)?.id ?? lastId;
    batch.lines.push(...taken);
    batch.positions.set(serviceId, position);
    batch.lost += position - sentId - taken.length;
    batch.more ||= position < lastId;
  }
  return batch;
}

function withinBytes<T extends { message: string }>(lines: readonly T[], maxBytes: number): T[] {
  let bytes = 0;
  const end = lines.findIndex(({ message }) => {
    bytes += Buffer.byteLength(JSON.stringify(message)) + BYTES_OF_RECORD;
    return bytes > maxBytes;
  });
  return lines.slice(0, end < 0 ? lines.length : Math.max(end, 1));
}
