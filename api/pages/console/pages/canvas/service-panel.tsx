import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Service } from '../../api/types.js';
import { Button, LinkButton, OutLink } from '../../ui/button.js';
import { KIND_TEXT, sourceText } from '../../ui/source-text.js';
import { Status, serviceStatus } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { useWorkspaceId } from '../page.js';
import { DeployButton } from '../services/deploy-button.js';
import c from './canvas.module.css';

export function ServicePanel({ service, onClose }: { service: Service; onClose: () => void }) {
  const workspaceId = useWorkspaceId();
  const { tone, text } = serviceStatus(service);
  const params = { workspaceId, serviceId: service.id };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') onClose();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [onClose]);
  return (
    <aside className={c.panel} aria-label={`Service ${service.name}`}>
      <div className={c.panelHead}>
        <h2 className={u.ellipsis}>
          <Link to="/w/$workspaceId/s/$serviceId" params={params}>
            {service.name}
          </Link>
        </h2>
        <Button look="quiet" small aria-label="Close" onClick={onClose}>
          ✕
        </Button>
      </div>
      <Status tone={tone}>{text}</Status>
      {service.runtimeDetail === '' ? null : <p className={u.dim}>{service.runtimeDetail}</p>}
      {service.url === '' ? null : <OutLink href={service.url}>{service.url}</OutLink>}
      <dl className={c.facts}>
        <dt>Kind</dt>
        <dd>{KIND_TEXT[service.kind]}</dd>
        <dt>Source</dt>
        <dd>{sourceText(service)}</dd>
        {service.internalHost === '' ? null : (
          <>
            <dt>Internal host</dt>
            <dd>
              <code>{service.internalHost}</code>
            </dd>
          </>
        )}
        {service.deploymentUpdatedAt === null ? null : (
          <>
            <dt>Deployment</dt>
            <dd>
              <Ago at={service.deploymentUpdatedAt} />
            </dd>
          </>
        )}
      </dl>
      <div className={u.actions}>
        <LinkButton look="primary" to="/w/$workspaceId/s/$serviceId" params={params}>
          Open
        </LinkButton>
        <LinkButton to="/w/$workspaceId/s/$serviceId/logs" params={params}>
          Logs
        </LinkButton>
        <DeployButton workspaceId={workspaceId} service={service} />
      </div>
    </aside>
  );
}
