/** Headers that rules may neither set nor remove. Most belong to one connection, or describe the body as it is sent. */
const UNTOUCHABLE =
  `connection keep-alive proxy-connection proxy-authenticate proxy-authorization transfer-encoding te trailer upgrade
  expect http2-settings host content-length content-encoding content-range date location x-request-id`.split(/\s+/);
/** Headers that rules may remove, but not set. */
const UNSETTABLE = 'accept-ranges age allow alt-svc server set-cookie set-cookie2 www-authenticate'.split(' ');
const NOT_SET: ReadonlySet<string> = new Set([...UNTOUCHABLE, ...UNSETTABLE]);
const NOT_REMOVED: ReadonlySet<string> = new Set(UNTOUCHABLE);
export const HEADER_NAME = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$";
const TOKEN = new RegExp(HEADER_NAME);
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns why rules cannot set or remove the header; null if they can. The result completes "The header …". */
export function headerProblem(name: string, action: 'set' | 'remove'): string | null {
  if (!TOKEN.test(name)) return 'is no name of a header';
  const taken = action === 'set' ? NOT_SET : NOT_REMOVED;
  return taken.has(name.toLowerCase()) ? 'belongs to the edge' : null;
}

/** Returns true if a header can have this value. */
export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}
