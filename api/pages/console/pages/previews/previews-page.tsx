import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, LinkButton, OutLink } from '../../ui/button.js';
import { Card, Items } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { AddForm } from '../../ui/form.js';
import { HistoryRow } from '../../ui/history.js';
import { Empty, Loaded, Skeleton } from '../../ui/states.js';
import { PLAIN_STATUS } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import e from '../hooks/endpoints.module.css';
import { useChangeRefusal, useService, useServicePath } from '../services/service-shell.js';
import { PullRequests } from './pull-requests.js';

type Preview = Schemas['Preview'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/previews';
/** Maximum number of previews of a service, which the API enforces. */
const MAX_PREVIEWS = 20;

function isWorking({ status }: Preview): boolean {
  return status === 'deploying' || status === 'deleting';
}

export function PreviewsPage() {
  const path = useServicePath();
  const service = useService();
  const refusal = useChangeRefusal();
  const { previewMode, previewExpiryHours } = service.configuration;
  const query = useGet(
    PATH,
    { path, query: { limit: MAX_PREVIEWS } },
    { working: ({ previews }) => previews.some(isWorking) },
  );
  const { ask, target, dialog } = useConfirmation(
    ({ id }: Preview) => remove(`${PATH}/{previewId}`, { path: { ...path, previewId: id } }),
    ({ deleted }) => toast(deleted ? 'The preview was deleted' : 'The preview is being deleted'),
  );
  const off = previewMode === 'off';
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={60} />}>
        {({ previews }) => (
          <Card
            title={MODE_TEXT[previewMode]}
            actions={
              <span className={u.dim}>
                {previews.length} of {MAX_PREVIEWS}, each for {previewExpiryHours} hours after its last change
              </span>
            }
          >
            <Items items={previews} empty={<NoPreviews isOff={off} />}>
              {(preview) => (
                <HistoryRow
                  status={PLAIN_STATUS[preview.status]}
                  title={
                    <Link
                      to="/w/$workspaceId/s/$serviceId"
                      params={{ workspaceId: path.workspaceId, serviceId: preview.serviceId }}
                    >
                      {preview.pullRequest === null ? preview.branch : `${preview.branch} (#${preview.pullRequest})`}
                    </Link>
                  }
                  detail={
                    <>
                      {preview.url === '' ? null : <OutLink href={preview.url}>{preview.url}</OutLink>} ends{' '}
                      <Ago at={preview.expiresAt} />
                    </>
                  }
                  at={preview.createdAt}
                >
                  <Button
                    small
                    refusal={refusal ?? (preview.status === 'deleting' ? 'The preview is being deleted' : null)}
                    aria-label={`Delete the preview of ${preview.branch}`}
                    onClick={() => ask(preview)}
                  >
                    Delete
                  </Button>
                </HistoryRow>
              )}
            </Items>
            {off ? null : (
              <AddPreview
                refusal={
                  refusal ?? (previews.length >= MAX_PREVIEWS ? `A service has at most ${MAX_PREVIEWS} previews` : null)
                }
              />
            )}
          </Card>
        )}
      </Loaded>
      <PullRequests refusal={refusal} />
      <ConfirmDialog {...dialog} title={`Delete the preview of ${target?.branch}?`} action="Delete">
        Its replicas stop and its URL no longer responds. The branch is not changed.
      </ConfirmDialog>
    </>
  );
}

const MODE_TEXT: Readonly<Record<Schemas['ServiceConfiguration']['previewMode'], string>> = {
  off: 'Previews are off',
  manual: 'Previews are created by hand',
  automatic: 'A preview for each pushed branch',
};

function NoPreviews({ isOff }: { isOff: boolean }) {
  const path = useServicePath();
  if (!isOff) {
    return (
      <Empty title="No previews yet">
        A preview runs another branch at its own URL, with the variables whose scope includes previews.
      </Empty>
    );
  }
  return (
    <Empty
      title="No previews yet"
      action={
        <LinkButton to="/w/$workspaceId/s/$serviceId/settings" params={path}>
          Open settings
        </LinkButton>
      }
    >
      Previews run other branches at their own URLs. Turn them on in the settings, under “Networking”.
    </Empty>
  );
}

function AddPreview({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const [typed, setTyped] = useState('');
  const branch = typed.trim();
  const add = useWrite(
    () => post(PATH, { path, body: { branch } }),
    () => setTyped(''),
  );
  return (
    <AddForm
      className={e.add}
      write={add}
      ready={branch !== ''}
      refusal={refusal}
      action="Create preview"
      failure="The preview was not created"
    >
      <TextField label="Branch" value={typed} onChange={setTyped} />
    </AddForm>
  );
}
