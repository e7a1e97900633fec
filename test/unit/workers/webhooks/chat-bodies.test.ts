import { expect } from 'chai';
import { WEBHOOK_EVENTS, WEBHOOK_FORMATS, type WebhookEvent } from '../../../../shared/webhooks/model.js';
import { chatBody } from '../../../../workers/webhooks/chat-bodies.js';
import { noticeOf } from '../../../../workers/webhooks/notice.js';

const CHATS = WEBHOOK_FORMATS.filter((format) => format !== 'json');
const HOSTILE = '@everyone <!channel> <@U1> [x](https://evil.example) **b** `c` <https://evil.example|x> \u202e &';
const SERVICE = { serviceId: 's', serviceName: HOSTILE };
const DEPLOYMENT = { ...SERVICE, deploymentId: 'd', trigger: 'manual', actor: HOSTILE, branch: HOSTILE };
const COMMIT = { commitSha: 'a'.repeat(40), commitMessage: `${HOSTILE}\nmore` };
const BUDGET = { workspaceName: HOSTILE, threshold: 80, cost: 8, budget: 10, currency: 'USD', usedPercent: 80 };
const ALERT = { ...SERVICE, alertId: 'a', metric: 'errors', above: 5, forMinutes: 5, value: 12.5, since: null };
const DATA: Readonly<Record<WebhookEvent, Record<string, unknown>>> = {
  'deployment.live': { ...DEPLOYMENT, ...COMMIT, error: '', url: 'http://shop.localhost:8080' },
  'deployment.failed': { ...DEPLOYMENT, ...COMMIT, error: `build: exit code 9\n${HOSTILE}` },
  'run.failed': { ...SERVICE, runId: 'r', trigger: 'manual', attempt: 1, exitCode: 3, error: 'exit code 3' },
  'backup.failed': { ...SERVICE, backupId: 'b', error: 'no room' },
  'budget.alert': BUDGET,
  'alert.firing': ALERT,
  'alert.resolved': ALERT,
};

function bodyOf(format: (typeof CHATS)[number], event: WebhookEvent, data: Record<string, unknown> = DATA[event]) {
  const content = { id: 'i', event, workspaceId: 'w', happenedAt: new Date('2026-11-26T12:00:00Z'), data };
  return chatBody(format, noticeOf(content, 'https://ranvier.example'));
}

describe('The message of a webhook to a chat', () => {
  it('links to the page of the console and to nothing else', () => {
    const pages: Readonly<Record<WebhookEvent, string>> = {
      'deployment.live': '/s/s/d/d',
      'deployment.failed': '/s/s/d/d',
      'run.failed': '/s/s/runs/r',
      'backup.failed': '/s/s/backups',
      'budget.alert': '/settings/usage',
      'alert.firing': '/s/s/metrics',
      'alert.resolved': '/s/s/metrics',
    };
    for (const format of CHATS) {
      for (const event of WEBHOOK_EVENTS) {
        const links = bodyOf(format, event).match(/[a-z]+:\/\/[^"|>]+/g) ?? [];
        const ours = links.filter((link) => link !== 'http://adaptivecards.io/schemas/adaptive-card.json');
        expect(ours, `${format} ${event}`).to.deep.equal([`https://ranvier.example/w/w${pages[event]}`]);
      }
    }
  });

  it('mentions nobody and has no markup of a tenant', () => {
    for (const event of WEBHOOK_EVENTS) {
      for (const format of CHATS) expect(bodyOf(format, event)).to.not.match(/@everyone|@U1|\u202e/);
      const slack = JSON.parse(bodyOf('slack', event));
      const [title] = slack.blocks;
      expect(title.text.type).to.equal('plain_text');
      expect(slack.text)
        .to.match(/&lt;!channel&gt;.*&amp;/)
        .and.not.match(/<|>/);
      const discord = JSON.parse(bodyOf('discord', event));
      expect(discord.allowed_mentions).to.deep.equal({ parse: [] });
      expect(discord.embeds[0].title).to.include('\\[x\\]\\(').and.include('\\*\\*b').and.include('\\`c');
      const [{ content: card }] = JSON.parse(bodyOf('teams', event)).attachments;
      expect(card.body.map(({ type }: { type: string }) => type)).to.include.members(['RichTextBlock']);
      expect(JSON.stringify(card)).to.not.include('"TextBlock"').and.not.include('entities');
    }
  });

  it('says what happened', () => {
    const slack = JSON.parse(bodyOf('slack', 'run.failed', { ...DATA['run.failed'], serviceName: 'shop' }));
    expect(slack.text).to.match(/A run of shop failed$/);
    expect(slack.blocks[1].text.text).to.equal('exit code 3\nExit code: 3');
    const data = { ...DATA['deployment.failed'], serviceName: 'shop', error: 'build: exit code 9', branch: 'main' };
    const [{ content: card }] = JSON.parse(bodyOf('teams', 'deployment.failed', data)).attachments;
    const lines = card.body.map(({ inlines: [{ text }] }: { inlines: [{ text: string }] }) => text);
    expect(lines.slice(0, 3)).to.deep.equal(['The deployment of shop failed', 'build: exit code 9', 'Branch: main']);
    const [embed] = JSON.parse(bodyOf('discord', 'deployment.failed', data)).embeds;
    expect(embed).to.include({ title: 'The deployment of shop failed', timestamp: '2026-11-26T12:00:00.000Z' });
  });

  it('stays within the limits of the chat, however long and odd a text is', () => {
    for (const character of ['<', '`', '\u{1f600}', '@', 'a', '\n']) {
      const long = character.repeat(20_000);
      const data = { ...DATA['deployment.failed'], serviceName: long, error: long, branch: long };
      const slack = JSON.parse(bodyOf('slack', 'deployment.failed', data));
      for (const { text } of slack.blocks) expect(text.text.length).to.be.within(1, 3000);
      const [embed] = JSON.parse(bodyOf('discord', 'deployment.failed', data)).embeds;
      expect(embed.title.length).to.be.at.most(256);
      expect(embed.description.length).to.be.at.most(4096);
      const teams = bodyOf('teams', 'deployment.failed', data);
      expect(Buffer.byteLength(teams)).to.be.below(28_000);
      for (const body of [JSON.stringify(slack), JSON.stringify(embed), teams]) {
        expect(body).to.not.match(/[\ud800-\udbff](?![\udc00-\udfff])|\\ud[89ab]/);
      }
    }
  });
});
