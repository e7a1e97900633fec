import type { Service } from '../../api/types.js';
import { CopyButton } from '../../ui/copy.js';
import u from '../../ui/ui.module.css';
import { CredentialsButton } from './credentials.js';
import p from './services.module.css';

/** How to connect to a database: from an application, and from the user's computer. */
export function ConnectCard({ service: { name, kind, internalHost } }: { service: Service }) {
  const key = kind === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL';
  const client = `rnv ${kind === 'postgres' ? 'psql' : 'redis-cli'} ${internalHost}`;
  const connect = `rnv connect ${internalHost} --port ${kind === 'postgres' ? 15432 : 16379}`;
  const attach = `rnv db attach ${internalHost} --service my-app`;
  return (
    <section className={u.card}>
      <div className={u.cardHead}>
        <h2>Connect</h2>
      </div>
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
        <div className={p.command}>
          <code>{attach}</code>
          <CopyButton text={attach} what="the command" />
        </div>
        <p>
          <strong>From your computer:</strong> the database has no public address. This command opens the client
          program, signed in:
        </p>
        <div className={p.command}>
          <code>{client}</code>
          <CopyButton text={client} what="the command for your computer" />
        </div>
        <p>For other clients, this command forwards a port of your computer to the database:</p>
        <div className={p.command}>
          <code>{connect}</code>
          <CopyButton text={connect} what="the command for other clients" />
        </div>
        <p>
          <strong>By hand:</strong> services of its environment reach it at <code>{internalHost}</code> with its
          credentials. The audit log records each time that they are shown.
        </p>
        <CredentialsButton name={name} />
      </div>
    </section>
  );
}
