import { expect } from 'chai';
import { type NotificationSettings, recipientOf } from '../../../../workers/notifications/model.js';

type Choice = NotificationSettings['workspace']['deployNotifications'];

function recipient(
  status: 'live' | 'failed' | 'cancelled',
  choice: {
    workspace?: Choice;
    service?: Choice | 'workspace';
    branch?: string;
    preview?: boolean;
    previews?: boolean;
    email?: string;
  },
): string | null {
  const {
    workspace = 'failure',
    service = 'workspace',
    branch = 'main',
    preview = false,
    previews = false,
    email = 'a@b.c',
  } = choice;
  return recipientOf(
    { status, branch, is_preview: preview },
    {
      service: { branch: 'main', notifications: service },
      workspace: { deployNotifications: workspace, notificationEmail: email, previewNotifications: previews },
    },
  );
}

describe('Who is told of the end of a deployment', () => {
  for (const [choice, told] of [
    ['all', ['live', 'failed', 'cancelled']],
    ['failure', ['failed']],
    ['none', []],
  ] as const) {
    it(`"${choice}" is set for the workspace, or for the service alone`, () => {
      const ends = ['live', 'failed', 'cancelled'] as const;
      const other = choice === 'none' ? 'all' : 'none';
      expect(ends.filter((status) => recipient(status, { workspace: choice }))).to.deep.equal(told);
      expect(ends.filter((status) => recipient(status, { workspace: other, service: choice }))).to.deep.equal(told);
    });
  }

  it('previews are told of in any case if the workspace says so', () => {
    expect(recipient('live', { branch: 'topic', previews: true, service: 'none' })).to.equal('a@b.c');
    expect(recipient('live', { branch: 'main', previews: true, service: 'none' })).to.equal(null);
    expect(recipient('live', { preview: true, previews: true, service: 'none' })).to.equal('a@b.c');
    expect(recipient('live', { branch: 'topic' })).to.equal(null);
    expect(recipient('live', { preview: true })).to.equal(null);
    expect(recipient('failed', { email: '' })).to.equal(null);
  });
});
