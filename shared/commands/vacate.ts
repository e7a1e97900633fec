import type { Transaction } from '../db/client.js';
import { type Contents, contentsOf, displaceDeleted, type Place } from '../db/contents.js';
import { AppError } from '../errors.js';

/** Makes ready for its removal a place that is locked. Throws conflict that names what is left in it. */
export async function vacate(trx: Transaction, title: string, place: Place): Promise<void> {
  const left = describe(await contentsOf(trx, place));
  if (left) throw new AppError('conflict', `${title} is not empty: move or delete ${left} first`);
  await displaceDeleted(trx, place);
}

function describe({ services, groups }: Contents): string {
  const parts = [named('its service', services), named('its environment group', groups)];
  return parts.filter((part) => part !== '').join(' and ');
}

const MOST_NAMED = 5;

function named(noun: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, MOST_NAMED).map((name) => `"${name}"`);
  if (names.length > MOST_NAMED) shown.push(`${names.length - MOST_NAMED} more`);
  return `${noun}${names.length === 1 ? '' : 's'} ${shown.join(', ')}`;
}
