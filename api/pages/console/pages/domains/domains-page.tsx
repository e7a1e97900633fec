import { useState } from 'react';
import { patch, post, remove } from '../../api/api-client.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button, OutLink } from '../../ui/button.js';
import { ListCard } from '../../ui/card.js';
import { CopyButton } from '../../ui/copy.js';
import { ConfirmDialog, Dialog, DialogForm, useConfirmation } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { AddForm } from '../../ui/form.js';
import { Empty, ErrorNotice, Skeleton } from '../../ui/states.js';
import { Status } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { useChangeRefusal, useServicePath } from '../services/service-shell.js';
import w from '../workspace/workspace.module.css';
import p from './domains.module.css';
import { RulesCard } from './rules-card.js';

type Domain = Schemas['Domain'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/domains';

export function DomainsPage() {
  const path = useServicePath();
  const refusal = useChangeRefusal();
  const [redirecting, setRedirecting] = useState<Domain | null>(null);
  const query = useGet(PATH, { path });
  const { ask, target, dialog } = useConfirmation(({ id }: Domain) =>
    remove(`${PATH}/{domainId}`, { path: { ...path, domainId: id } }),
  );
  return (
    <>
      <ListCard
        query={query}
        skeleton={<Skeleton rows={2} height={90} />}
        items={({ domains }) => domains}
        empty={
          <Empty title="No custom domains yet">
            Add a domain that you own. You then get a DNS record to create, which proves that it is yours.
          </Empty>
        }
        add={<AddDomain refusal={refusal} />}
      >
        {(domain) => (
          <Row
            domain={domain}
            refusal={refusal}
            onRedirect={() => setRedirecting(domain)}
            onLeave={() => ask(domain)}
          />
        )}
      </ListCard>
      <RulesCard refusal={refusal} />
      {redirecting ? <RedirectDialog domain={redirecting} onClose={() => setRedirecting(null)} /> : null}
      <ConfirmDialog {...dialog} title={`Remove ${target?.hostname}?`} action="Remove">
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
  const path = { ...useServicePath(), domainId: id };
  const [target, setTarget] = useState(redirectTo ?? '');
  const body = { redirectTo: target.trim() || null };
  const save = useWrite(() => patch(`${PATH}/{domainId}`, { path, body }), onClose);
  return (
    <Dialog title={`Redirect ${hostname}`} open onClose={onClose}>
      <DialogForm write={save} action="Save redirect" failure="The redirect was not saved" onClose={onClose}>
        <TextField
          label="Redirect to"
          hint="All requests go to this host name, with path and parameters (301). If it is empty, the service answers"
          placeholder="www.example.com"
          value={target}
          onChange={setTarget}
        />
      </DialogForm>
    </Dialog>
  );
}

function AddDomain({ refusal }: { refusal: string | null }) {
  const path = useServicePath();
  const [typed, setTyped] = useState('');
  const hostname = typed.trim();
  const add = useWrite(
    () => post(PATH, { path, body: { hostname } }),
    () => setTyped(''),
  );
  return (
    <AddForm
      className={`${w.add} ${p.add}`}
      write={add}
      ready={hostname !== ''}
      refusal={refusal}
      action="Add domain"
      failure="The domain was not added"
    >
      <TextField label="Domain" placeholder="www.example.com" value={typed} onChange={setTyped} />
    </AddForm>
  );
}
