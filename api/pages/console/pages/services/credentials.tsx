import { useState } from 'react';
import { post } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import { useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { ErrorNotice } from '../../ui/states.js';
import { useServicePath } from './service-shell.js';

const CREDENTIALS = '/workspaces/{workspaceId}/services/{serviceId}/credentials';

/** Shows a database's user and password after a click. The audit log records the access. */
export function CredentialsButton({ name }: { name: string }) {
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
