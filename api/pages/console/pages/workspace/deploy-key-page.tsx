import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import w from './workspace.module.css';

type Host = Schemas['DeployKey']['hosts'][number];

const PATH = '/workspaces/{workspaceId}/deploy-key';

/** The workspace's deploy key for private repositories, and the SSH servers that it was used for. */
export function DeployKeyPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId' });
  const refusal = useRefusal(workspaceId, 'admin');
  const [leaving, setLeaving] = useState<Host | null>(null);
  const query = useGet(PATH, { path: { workspaceId } });
  const forget = useWrite((hostId: string) => remove(`${PATH}/hosts/{hostId}`, { path: { workspaceId, hostId } }), {
    onDone: () => setLeaving(null),
  });
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={130} />}>
        {({ deployKey: { publicKey, fingerprint, hosts } }) => (
          <>
            <section className={u.card}>
              <div className={u.cardHead}>
                <h2>Deploy key</h2>
                <CopyButton text={publicKey} what="the public key" />
              </div>
              <div className={`${u.cardBody} ${u.stack}`}>
                <p>
                  Add it to a private repository (GitHub: Settings, Deploy keys; GitLab: Settings, Repository, Deploy
                  keys) with read access. Then deploy the repository by its SSH address, such as{' '}
                  <code>git@github.com:owner/name.git</code>.
                </p>
                <pre className={w.publicKey}>{publicKey}</pre>
                <p className={u.dim}>
                  Fingerprint <code>{fingerprint}</code>
                </p>
              </div>
            </section>
            <section className={u.card}>
              <div className={u.cardHead}>
                <h2>Known hosts</h2>
              </div>
              {hosts.length === 0 ? (
                <p className={`${u.cardBody} ${u.dim}`}>
                  None yet. The host keys of a server are stored at the first connection and checked at each later one.
                </p>
              ) : (
                <ul>
                  {hosts.map((host) => (
                    <li key={host.id} className={w.member}>
                      <div className={w.who}>
                        <strong>{host.host}</strong>
                        {host.fingerprints.map(({ type, fingerprint: print }) => (
                          <span key={print} className={u.dim}>
                            {type} <code>{print}</code>
                          </span>
                        ))}
                      </div>
                      <span className={u.dim}>
                        since <Ago at={host.pinnedAt} />
                      </span>
                      <Button
                        small
                        refusal={refusal}
                        aria-label={`Forget ${host.host}`}
                        onClick={() => setLeaving(host)}
                      >
                        Forget
                      </Button>
                    </li>
                  ))}
                </ul>
              )}
            </section>
          </>
        )}
      </Loaded>
      <ConfirmDialog
        title={`Forget the keys of ${leaving?.host}?`}
        action="Forget host keys"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && forget.mutate(leaving.id)}
        write={forget}
      >
        Do this only if the keys of the server have changed for a good reason. Its keys are trusted again at the next
        connection.
      </ConfirmDialog>
    </>
  );
}
