import type { ReactNode } from 'react';
import { remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items, Row } from '../../ui/card.js';
import { CopyButton } from '../../ui/copy.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';
import w from './workspace.module.css';

type Host = Schemas['DeployKey']['hosts'][number];

const PATH = '/workspaces/{workspaceId}/deploy-key';

export function DeployKeyPage() {
  const workspaceId = useWorkspaceId();
  const refusal = useRefusal(workspaceId, 'admin');
  const query = useGet(PATH, { path: { workspaceId } });
  const { ask, target, dialog } = useConfirmation(({ id }: Host) =>
    remove(`${PATH}/hosts/{hostId}`, { path: { workspaceId, hostId: id } }),
  );
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={130} />}>
        {({ deployKey: { publicKey, fingerprint, hosts } }) => (
          <>
            <Card title="Deploy key" actions={<CopyButton text={publicKey} what="the public key" />}>
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
            </Card>
            <Card title="Known hosts">
              <Items items={hosts} empty={<NoHosts />}>
                {(host) => (
                  <HostRow host={host}>
                    <Button small refusal={refusal} aria-label={`Forget ${host.host}`} onClick={() => ask(host)}>
                      Forget
                    </Button>
                  </HostRow>
                )}
              </Items>
            </Card>
          </>
        )}
      </Loaded>
      <ConfirmDialog {...dialog} title={`Forget the keys of ${target?.host}?`} action="Forget host keys">
        Do this only if the keys of the server have changed for a good reason. Its keys are trusted again at the next
        connection.
      </ConfirmDialog>
    </>
  );
}

function NoHosts() {
  return (
    <p className={`${u.cardBody} ${u.dim}`}>
      None yet. The host keys of a server are stored at the first connection and checked at each later one.
    </p>
  );
}

function HostRow({ host: { host, fingerprints, pinnedAt }, children }: { host: Host; children: ReactNode }) {
  return (
    <Row
      title={
        <>
          <strong>{host}</strong>
          {fingerprints.map(({ type, fingerprint }) => (
            <span key={fingerprint} className={u.dim}>
              {type} <code>{fingerprint}</code>
            </span>
          ))}
        </>
      }
      aside={
        <span className={u.dim}>
          since <Ago at={pinnedAt} />
        </span>
      }
    >
      {children}
    </Row>
  );
}
