import { expect } from 'chai';
import { colouredHtml } from '../../../../../api/pages/console/pages/logs/coloured-html.js';

const link = (url: string, text = 'text') => `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\`;

describe('A line of a log with colours', () => {
  it('opens its links, of http and https only, in a tab of their own', () => {
    const own = 'target="_blank" rel="noopener noreferrer"';
    for (const url of ['http://example.com/', 'https://example.com/a?b'])
      expect(colouredHtml(link(url))).to.equal(`<a ${own} href="${url}">text</a>`);
    for (const url of [
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      '//example.com',
      'JavaScript:x',
    ])
      expect(colouredHtml(link(url)), url).to.not.include('<a');
  });

  it('has no markup but spans of colours', () => {
    const hostile = '<img src=x onerror=alert(1)><a href="javascript:x">\u001b[31m"\'<script>\u001b[0m';
    const html = colouredHtml(hostile + link('https://example.com/"><script>', '<img src=x>'));
    expect(
      html.replace(
        /<\/?(?:span|a)(?: class="[\w -]*"| target="_blank" rel="noopener noreferrer" href="[^"<>]*")?>/g,
        '',
      ),
    ).to.not.match(/[<>]/);
  });
});
