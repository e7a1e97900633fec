import { AnsiUp } from 'ansi_up';

/**
 * Returns a log line as HTML with colours. Escapes its text, and makes links of http and https only.
 * A link opens in a tab without access to this page, because a program's output must not replace the console.
 */
export function colouredHtml(text: string): string {
  const ansi = new AnsiUp();
  // The page's policy forbids inline styles.
  ansi.use_classes = true;
  ansi.url_allowlist = { http: 1, https: 1 };
  return ansi.ansi_to_html(text).replaceAll('<a href=', '<a target="_blank" rel="noopener noreferrer" href=');
}
