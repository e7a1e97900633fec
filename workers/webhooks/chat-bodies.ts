import type { WebhookFormat } from '../../shared/webhooks/model.js';
import type { Notice } from './notice.js';

/** Bodies of chat messages. The limits are those of the chat services, which would refuse a larger body as a whole. */

const OPEN = 'Open in Ranvier';

/** Returns the body of a message in the format of a chat service. */
export function chatBody(format: Exclude<WebhookFormat, 'json'>, notice: Notice): string {
  return JSON.stringify(BODIES[format](notice));
}

const BODIES = { slack, discord, teams };

/** Slack accepts 3,000 characters in a section, and interprets &, < and > even in `plain_text`. */
function slack({ title, text, tone, link }: Notice): object {
  const icon = { good: '\u2705', bad: '\u274c', warning: '\u26a0\ufe0f' }[tone];
  const shown = `${icon} ${fitted(title, 300, escapeSlack)}`;
  const section = (content: object) => ({ type: 'section', text: content });
  return {
    // The text for notifications and screen readers.
    text: shown,
    blocks: [
      section({ type: 'plain_text', text: shown, emoji: false }),
      ...(text === '' ? [] : [section({ type: 'plain_text', text: fitted(text, 2900, escapeSlack), emoji: false })]),
      section({ type: 'mrkdwn', text: `<${escapeSlack(link)}|${OPEN}>`, verbatim: true }),
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** Discord accepts 256 characters in a title and 4,096 in a description, and interprets markup in both. */
function discord({ title, text, tone, link, at }: Notice): object {
  const color = { good: 0x2e7d32, bad: 0xc62828, warning: 0xf9a825 }[tone];
  const description = fitted(text, 4096, escapeDiscord);
  return {
    embeds: [{ title: fitted(title, 256, escapeDiscord), url: link, description, color, timestamp: at.toISOString() }],
    allowed_mentions: { parse: [] },
  };
}

/** An Adaptive Card for Teams Workflows. Unlike text blocks, text runs have no markup. */
function teams({ title, text, tone, link }: Notice): object {
  const run = (content: string, look: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: content, ...look }],
  });
  const color = { good: 'Good', bad: 'Attention', warning: 'Warning' }[tone];
  // Teams accepts messages of at most 28 KB.
  const lines = fitted(text, 4000).split('\n').slice(0, 40);
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      run(fitted(title, 300), { size: 'Medium', weight: 'Bolder', color }),
      ...lines.filter((line) => line.trim() !== '').map((line) => run(line)),
    ],
    actions: [{ type: 'Action.OpenUrl', title: OPEN, url: link }],
    msteams: { width: 'Full' },
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, contentUrl: null, content: card }] };
}

/** Truncates to `most` characters. No escape sequence or character is cut in two. */
function fitted(text: string, most: number, escaped: (text: string) => string = (same) => same): string {
  const whole = escaped(text);
  if (whole.length <= most) return whole;
  let cut = '';
  for (const character of text) {
    const piece = escaped(character);
    if (cut.length + piece.length >= most) break;
    cut += piece;
  }
  return `${cut}\u2026`;
}

function escapeSlack(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** A backslash before punctuation removes its special meaning. */
function escapeDiscord(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, '\\$&');
}
