import { useState } from 'react';
import { patch, post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, OutLink } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { ConfirmDialog, Dialog, DialogFoot } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { WriteForm } from '../../ui/write-form.js';
import { changeRefusal, useService, useServicePath } from '../services/service-shell.js';
import w from '../workspace/workspace.module.css';
import p from './domains.module.css';
import { RulesCard } from './rules-card.js';

type Domain = Schemas['Domain'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/domains';

export function DomainsPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal = role ?? changeRefusal(service);
  const [leaving, setLeaving] = useState<Domain | null>(null);
  const [redirecting, setRedirecting] = useState<Domain | null>(null);
  const query = useGet(PATH, { path });
  const end = useWrite((domainId: string) => remove(`${PATH}/{domainId}`, { path: { ...path, domainId } }), {
    onDone: () => setLeaving(null),
  });
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={2} height={90} />}>
        {({ domains }) => (
          <section className={u.card}>
            {domains.length === 0 ? (
              <Empty title="No custom domains yet">
                Add a domain that you own. You then get a DNS record to create, which proves that it is yours.
              </Empty>
            ) : (
              <ul>
                {domains.map((domain) => (
                  <Row
                    key={domain.id}
                    domain={domain}
                    refusal={refusal}
                    onRedirect={() => setRedirecting(domain)}
                    onLeave={() => setLeaving(domain)}
                  />
                ))}
              </ul>
            )}
            <AddDomain refusal={refusal} />
          </section>
        )}
      </Loaded>
      <RulesCard refusal={refusal} />
      {redirecting ? <RedirectDialog domain={redirecting} onClose={() => setRedirecting(null)} /> : null}
      <ConfirmDialog
        title={`Remove ${leaving?.hostname}?`}
        action="Remove"
        open={leaving !== null}
        onClose={() => setLeaving(null)}
        onConfirm={() => leaving && end.mutate(leaving.id)}
        write={end}
      >
        The service no longer responds at this domain.
      </ConfirmDialog>
    </>
  );
}

interface RowProps {
  domain: Domain;
  refusal: string | null;
  onRedirect: () => void;
  onLeave: () => void;
}

function Row({ domain, refusal, onRedirect, onLeave }: RowProps) {
  const path = useServicePath();
  const { id, hostname, status, verification, detail, redirectTo } = domain;
  const active = status === 'active';
  const verify = useWrite(() => post(`${PATH}/{domainId}/verify`, { path: { ...path, domainId: id } }));
  return (
    <li className={p.domain}>
      <div className={p.head}>
        {active ? <OutLink href={`//${hostname}`}>{hostname}</OutLink> : <strong>{hostname}</strong>}
        <Status tone={active ? 'good' : 'warn'}>{active ? 'Active' : 'Waiting for DNS record'}</Status>
        <div className={u.actions}>
          <Button small refusal={refusal} pending={verify.isPending} onClick={() => verify.mutate()}>
            {verify.isPending ? 'Checking…' : 'Check now'}
          </Button>
          <Button small refusal={refusal} aria-label={`Redirect ${hostname}`} onClick={onRedirect}>
            Redirect
          </Button>
          <Button small refusal={refusal} aria-label={`Remove ${hostname}`} onClick={onLeave}>
            Remove
          </Button>
        </div>
      </div>
      {active ? null : (
        <div className={p.record}>
          <span>{verification.type}</span>
          <code>{verification.name}</code>
          <CopyButton text={verification.name} what="the name" />
          <code>{verification.value}</code>
          <CopyButton text={verification.value} what="the value" />
        </div>
      )}
      {redirectTo === undefined ? null : <p className={u.dim}>Redirects to {redirectTo}</p>}
      {detail === '' ? null : <p className={u.dim}>{detail}</p>}
      {verify.error ? <ErrorNotice title="The DNS record was not checked" error={verify.error} /> : null}
    </li>
  );
}

function RedirectDialog({ domain: { id, hostname, redirectTo }, onClose }: { domain: Domain; onClose: () => void }) {
  const path = useServicePath();
  const [target, setTarget] = useState(redirectTo ?? '');
  const save = useWrite(
    () => patch(`${PATH}/{domainId}`, { path: { ...path, domainId: id }, body: { redirectTo: target.trim() || null } }),
    { onDone: onClose },
  );
  return (
    <Dialog title={`Redirect ${hostname}`} open onClose={onClose}>
      <WriteForm className={u.stack} write={save} ready>
        <TextField
          label="Redirect to"
          hint="All requests go to this host name, with path and parameters (301). If it is empty, the service answers"
          placeholder="www.example.com"
          value={target}
          onChange={(event) => setTarget(event.target.value)}
        />
        {save.error ? <ErrorNotice title="The redirect was not saved" error={save.error} /> : null}
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" pending={save.isPending}>
            Save redirect
          </Button>
        </DialogFoot>
      </WriteForm>
    </Dialog>
  );
}

function AddDomain({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const [hostname, setHostname] = useState('');
  const add = useWrite(() => post(PATH, { path, body: { hostname: hostname.trim() } }), {
    onDone: () => setHostname(''),
  });
  return (
    <WriteForm className={`${w.add} ${p.add}`} write={add} ready={hostname.trim() !== ''}>
      <TextField
        label="Domain"
        placeholder="www.example.com"
        disabled={refusal !== null}
        value={hostname}
        onChange={(event) => setHostname(event.target.value)}
      />
      <Button type="submit" refusal={refusal} pending={add.isPending} disabled={hostname.trim() === ''}>
        Add domain
      </Button>
      {add.error ? <ErrorNotice title="The domain was not added" error={add.error} /> : null}
    </WriteForm>
  );
}
