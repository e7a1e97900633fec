import { AnsiUp } from 'ansi_up';

/**
 * Converts a log line with terminal colours to HTML. Escapes the text, and links http and https only. A link opens a
 * tab without access to this page, because the output of a program must not replace the console.
 */
export function colouredHtml(text: string): string {
  const ansi = new AnsiUp();
  // The Content-Security-Policy forbids inline styles.
  ansi.use_classes = true;
  ansi.url_allowlist = { http: 1, https: 1 };
  return ansi.ansi_to_html(text).replaceAll('<a href=', '<a target="_blank" rel="noopener noreferrer" href=');
}
