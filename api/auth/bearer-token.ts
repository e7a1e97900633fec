const BEARER = /^bearer +(\S+)$/i;

/** Returns the token in an `Authorization: Bearer` header; '' if there is none. */
export function bearerToken(header: string): string {
  return BEARER.exec(header.trim())?.[1] ?? '';
}
