/** Returns why a database or user name is invalid, as the rest of a sentence; null if it is valid. */
export function nameProblem(name: string): string | null {
  const lower = name.toLowerCase();
  if (lower.startsWith('pg_')) return 'must not begin with pg_, which PostgreSQL reserves';
  if (lower.startsWith('ranvier')) return 'must not begin with ranvier, which the platform reserves';
  if (['postgres', 'template0', 'template1'].includes(lower))
    return `is reserved: every server has a ${lower} of its own`;
  if (['public', 'none', 'all', 'replication', 'sameuser', 'samerole'].includes(lower)) {
    return 'is a word of PostgreSQL; choose another name';
  }
  return null;
}
