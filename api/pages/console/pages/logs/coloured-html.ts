import { AnsiUp } from 'ansi_up';

/** A link opens a tab without access to this page, because a program's output must not replace the console. */
export function colouredHtml(text: string): string {
  const ansi = new AnsiUp();
  // The Content-Security-Policy forbids inline styles.
  ansi.use_classes = true;
  ansi.url_allowlist = { http: 1, https: 1 };
  return ansi.ansi_to_html(text).replaceAll('<a href=', '<a target="_blank" rel="noopener noreferrer" href=');
}
