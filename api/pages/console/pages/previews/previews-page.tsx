import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, LinkButton, OutLink } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { HistoryRow } from '../../ui/history.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { PLAIN_STATUS } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import e from '../hooks/endpoints.module.css';
import { changeRefusal, useService, useServicePath } from '../services/service-shell.js';
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
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal = role ?? changeRefusal(service);
  const { previewMode, previewExpiryHours } = service.configuration;
  const [closing, setClosing] = useState<Preview | null>(null);
  const query = useGet(
    PATH,
    { path, query: { limit: MAX_PREVIEWS } },
    { working: ({ previews }) => previews.some(isWorking) },
  );
  const close = useWrite((previewId: string) => remove(`${PATH}/{previewId}`, { path: { ...path, previewId } }), {
    onDone: ({ deleted }) => {
      toast(deleted ? 'The preview was deleted' : 'The preview is being deleted');
      setClosing(null);
    },
  });
  const off = previewMode === 'off';
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={60} />}>
        {({ previews }) => (
          <section className={u.card}>
            <div className={u.cardHead}>
              <h2>{MODE_TEXT[previewMode]}</h2>
              <span className={u.dim}>
                {previews.length} of {MAX_PREVIEWS}, each for {previewExpiryHours} hours after its last change
              </span>
            </div>
            {previews.length === 0 ? (
              <Empty
                title="No previews yet"
                action={
                  off ? (
                    <LinkButton to="/w/$workspaceId/s/$serviceId/settings" params={path}>
                      Open settings
                    </LinkButton>
                  ) : undefined
                }
              >
                {off
                  ? 'Previews run other branches at their own URLs. Turn them on in the settings, under “Networking”.'
                  : 'A preview runs another branch at its own URL, with the variables whose scope includes previews.'}
              </Empty>
            ) : (
              <ul>
                {previews.map((preview) => (
                  <HistoryRow
                    key={preview.id}
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
                    startedAt={null}
                    finishedAt={null}
                  >
                    <Button
                      small
                      refusal={refusal ?? (preview.status === 'deleting' ? 'The preview is being deleted' : null)}
                      aria-label={`Delete the preview of ${preview.branch}`}
                      onClick={() => setClosing(preview)}
                    >
                      Delete
                    </Button>
                  </HistoryRow>
                ))}
              </ul>
            )}
            {off ? null : (
              <AddPreview
                refusal={
                  refusal ?? (previews.length >= MAX_PREVIEWS ? `A service has at most ${MAX_PREVIEWS} previews` : null)
                }
              />
            )}
          </section>
        )}
      </Loaded>
      <PullRequests refusal={refusal} />
      <ConfirmDialog
        title={`Delete the preview of ${closing?.branch}?`}
        action="Delete"
        open={closing !== null}
        onClose={() => setClosing(null)}
        onConfirm={() => closing && close.mutate(closing.id)}
        write={close}
      >
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

function AddPreview({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const [branch, setBranch] = useState('');
  const add = useWrite(() => post(PATH, { path, body: { branch: branch.trim() } }), {
    onDone: () => setBranch(''),
  });
  return (
    <WriteForm className={e.add} write={add} ready={branch.trim() !== ''}>
      <TextField
        label="Branch"
        disabled={refusal !== null}
        value={branch}
        onChange={(event) => setBranch(event.target.value)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={branch.trim() === ''}>
        Create preview
      </Button>
      {add.error ? <ErrorNotice title="The preview was not created" error={add.error} /> : null}
    </WriteForm>
  );
}
