const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const ZEROS = /^0+$/;

/**
 * Returns a valid `traceparent` header without the fields that later versions may append (W3C). Returns null for any
 * other text, which the caller must ignore.
 */
export function validTraceparent(header: string | undefined): string | null {
  const [found, version, traceId = '', spanId = '', rest] = TRACEPARENT.exec(header ?? '') ?? [];
  if (found === undefined || version === 'ff' || ZEROS.test(traceId) || ZEROS.test(spanId)) return null;
  if (rest === undefined) return found;
  return version === '00' ? null : found.slice(0, -rest.length);
}

/** Returns the trace id and span id of a valid `traceparent`, in hexadecimal. */
export function traceOf(traceparent: string): { traceId: string; spanId: string } {
  const [, traceId = '', spanId = ''] = traceparent.split('-');
  return { traceId, spanId };
}
