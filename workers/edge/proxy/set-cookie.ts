/**
 * Removes the `Domain` attribute from a `Set-Cookie` value, unless it is exactly the responding host. With a wider
 * domain, the browser would send one service's cookie to all others below the platform's domain.
 */
export function withoutForeignDomain(cookie: string, host: string): string {
  const [pair = '', ...attributes] = cookie.split(';');
  return [pair, ...attributes.filter((attribute) => !isForeignDomain(attribute, host))].join(';');
}

/** Like browsers, ignores case and one leading dot. */
function isForeignDomain(attribute: string, host: string): boolean {
  const [name = '', ...rest] = attribute.split('=');
  if (trimmed(name) !== 'domain') return false;
  return trimmed(rest.join('=')).replace(/^\./, '') !== host;
}

/** Browsers strip whitespace and control characters around the text. */
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
