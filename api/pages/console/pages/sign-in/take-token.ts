/** Returns the token of a one-time link to a page, and removes it from the URL and so from the browser's history. */
export function takeToken(page: '/sign-in' | '/invitation'): string | null {
  if (location.pathname !== page || location.hash.length < 2) return null;
  const token = location.hash.slice(1);
  history.replaceState(history.state, '', page);
  return token;
}
