import { AnsiUp } from 'ansi_up';

/**
 * Returns the HTML of a log's line with colours: its text is escaped, its links are of http and https only.
 * A link opens a tab that has no way back: a program's output must not replace the console.
 */
export function colouredHtml(text: string): string {
  const ansi = new AnsiUp();
  // Inline styles are against the page's policy.
  ansi.use_classes = true;
  ansi.url_allowlist = { http: 1, https: 1 };
  return ansi.ansi_to_html(text).replaceAll('<a href=', '<a target="_blank" rel="noopener noreferrer" href=');
}
