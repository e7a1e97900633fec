import { post } from '../../api/api-client.js';
import { useSession } from '../../api/session.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { ErrorNotice, Notice } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import c from '../shell.module.css';
import { Passkeys } from './passkeys.js';
import { SecondFactor } from './second-factor.js';
import { Sessions } from './sessions.js';

export function AccountPage() {
  const { user } = useSession();
  if (!user) return null;
  return (
    <div className={c.page}>
      <h1>Account</h1>
      <Card
        title={user.email}
        actions={
          <Status tone={user.emailVerified ? 'good' : 'warn'}>
            {user.emailVerified ? 'E-mail verified' : 'E-mail not verified'}
          </Status>
        }
      >
        {user.emailVerified ? null : <Verification />}
      </Card>
      <SecondFactor enabled={user.mfaEnabled} />
      <Passkeys />
      <Sessions />
    </div>
  );
}

function Verification() {
  const { reload } = useSession();
  const send = useWrite(
    () => post('/session/verification', {}),
    ({ sent }) => {
      if (sent) toast('The verification e-mail was sent');
      return reload();
    },
  );
  return (
    <div className={`${u.cardBody} ${u.stack}`}>
      <p>Until you verify your e-mail address, you can read but not change anything.</p>
      <div>
        <Button pending={send.isPending} onClick={() => send.mutate()}>
          Send verification e-mail
        </Button>
      </div>
      {send.data && !send.data.sent ? <Notice tone="warn">{send.data.reason}.</Notice> : null}
      {send.error ? <ErrorNotice title="The e-mail was not sent" error={send.error} /> : null}
    </div>
  );
}
