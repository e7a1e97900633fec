import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Service } from '../../api/types.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CopyButton } from '../../ui/copy.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { ErrorNotice } from '../../ui/states.js';
import u from '../../ui/ui.module.css';
import { useServicePath } from './service-shell.js';
import p from './services.module.css';

const CREDENTIALS = '/workspaces/{workspaceId}/services/{serviceId}/credentials';

export function ConnectCard({ service: { name, kind, internalHost } }: { service: Service }) {
  const key = kind === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL';
  const client = `rnv ${kind === 'postgres' ? 'psql' : 'redis-cli'} ${internalHost}`;
  const connect = `rnv connect ${internalHost} --port ${kind === 'postgres' ? 15432 : 16379}`;
  const attach = `rnv db attach ${internalHost} --service my-app`;
  return (
    <Card title="Connect">
      <div className={`${u.cardBody} ${u.stack}`}>
        <p>
          <strong>From an application</strong> of the same environment: on its page “Variables”, add <code>{key}</code>{' '}
          with the source “From {name}” and the variable <code>URL</code>. <code>HOST</code>, <code>PORT</code>,{' '}
          <code>USER</code>, <code>PASSWORD</code>
          {kind === 'postgres' ? (
            <>
              {' '}
              and <code>DATABASE</code>
            </>
          ) : null}{' '}
          can be referred to as well. Or run:
        </p>
        <Command text={attach} what="the command" />
        <p>
          <strong>From your computer:</strong> the database has no public address. This command opens the client
          program, signed in:
        </p>
        <Command text={client} what="the command for your computer" />
        <p>For other clients, this command forwards a port of your computer to the database:</p>
        <Command text={connect} what="the command for other clients" />
        <p>
          <strong>By hand:</strong> services of its environment reach it at <code>{internalHost}</code> with its
          credentials. The audit log records each time that they are shown.
        </p>
        <CredentialsButton name={name} />
      </div>
    </Card>
  );
}

function Command({ text, what }: { text: string; what: string }) {
  return (
    <div className={p.command}>
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </div>
  );
}

/** Shows a database's user and password after a click. The audit log records the access. */
function CredentialsButton({ name }: { name: string }) {
  const path = useServicePath();
  const role = useRefusal(path.workspaceId, 'developer');
  const [secrets, setSecrets] = useState<{ label: string; value: string }[] | null>(null);
  const reveal = useWrite(async () => {
    const { credentials } = await post(CREDENTIALS, { path });
    const { user, password, database } = credentials;
    const all = { User: user, Password: password, Database: database };
    setSecrets(Object.entries(all).flatMap(([label, value]) => (value === '' ? [] : [{ label, value }])));
  });
  return (
    <>
      <div>
        <Button refusal={role} pending={reveal.isPending} onClick={() => reveal.mutate()}>
          Reveal credentials
        </Button>
      </div>
      {reveal.error ? <ErrorNotice title="The credentials were not read" error={reveal.error} /> : null}
      <SecretDialog title={`Credentials of ${name}`} secrets={secrets} onClose={() => setSecrets(null)} />
    </>
  );
}
