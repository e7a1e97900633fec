/** Repeated and combined, these texts are slow or wrong in regular expressions and parsers. */
const UNITS = [
  ...['0', '9', 'a', 'A', '-', '_', '.', '/', '\\', ':', '@', '#', '%', '*', ',', '+', '=', '?', '!', '~', '"', "'"],
  ...[' ', '\t', '\n', '\r\n', '\u2028', '\u0301', 'é', '漢', '😀', '\ud7ff'],
  ...['..', '../', '/..', './', '//', 'a.', 'a-', 'a@', '@a', 'a:', '::', '1.', '%2e', 'a b ', 'ab,', '-a-', '***'],
  ...['0-99999999 ', '*/1 ', '0-59,', '1-2,', '0-59/1,', 'L,', '5#5,', '0-99999999 * * * * '],
  ...['https://', 'http://a:b@', 'ext::', 'file:///', 'xn--', '\\u0061', '$(a)', '(a+)+', '[a-', 'Europe/'],
];
const BEGINNINGS = ['', 'a', '/', 'a@', 'https://a/', '0 0 ', '#'];
const ENDS = ['', '!', '\n', ' * * * *', '/..', '.', '@'];

/** Yields hostile texts of this length in UTF-16 units. `few` limits each unit to one beginning. */
export function* hostileTexts(length: number, { few = false } = {}): Generator<string> {
  for (const [number, unit] of UNITS.entries()) {
    for (const [i, beginning] of BEGINNINGS.entries()) {
      if (few && i !== number % BEGINNINGS.length) continue;
      const end = ENDS[i] ?? '';
      const left = Math.max(0, length - beginning.length - end.length);
      const middle = unit.repeat(Math.ceil(length / unit.length)).slice(0, left);
      yield (beginning + middle + end).slice(0, length);
    }
  }
}
