/**
 * A `Set-Cookie` value without its `Domain`, unless that names exactly the host that answers. With a wider domain the cookie
 * of one service would be sent to all others below the platform's domain. Without one the browser keeps it for the host.
 */
export function withoutForeignDomain(cookie: string, host: string): string {
  const [pair = '', ...attributes] = cookie.split(';');
  return [pair, ...attributes.filter((attribute) => !isForeignDomain(attribute, host))].join(';');
}

/** Browsers split at the first `=`, ignore case, and ignore one leading dot. Every value except the host is foreign. */
function isForeignDomain(attribute: string, host: string): boolean {
  const [name = '', ...rest] = attribute.split('=');
  if (trimmed(name) !== 'domain') return false;
  return trimmed(rest.join('=')).replace(/^\./, '') !== host;
}

/** In lower case, without the whitespace and control characters that browsers remove around the parts of a cookie. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isPadding(text.charCodeAt(start))) start += 1;
  while (end > start && isPadding(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end).toLowerCase();
}

function isPadding(code: number): boolean {
  return code <= 0x20 || (code >= 0x7f && code <= 0xa0);
}
